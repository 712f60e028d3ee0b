"""Dataclasses whose fields are numbers within limits: those of an agent's settings, and the options of its parts."""

from collections.abc import Mapping

from engram import checks


class CheckedFields:
    """Checks fields and turns what they hold into Python's own numbers, which files can hold and read again."""

    def check_whole(self, limits: Mapping[str, tuple[int, int]]) -> None:
        """Raise InvalidInputError unless these fields are whole numbers within limits; 10.0 becomes 10."""
        for name, (low, high) in limits.items():
            object.__setattr__(self, name, checks.at_least(name, getattr(self, name), low, high))

    def check_numbers(self, limits: Mapping[str, tuple[float, float]]) -> None:
        """Raise InvalidInputError unless these fields are numbers within limits; NumPy's become Python's."""
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            number = checks.within(name, value, low, high)
            object.__setattr__(self, name, value if isinstance(value, int) else number)
