"""How many examples Hypothesis tries: as many as `make test` has time for, or more where time matters less."""

from typing import Any

from hypothesis import settings

USUAL = 100  # of a test that says nothing, as Hypothesis has it
THOROUGH = 300  # with the profile `thorough`, of `make test-slow` and `make test-kernels`


def examples(number: int, **others: Any) -> settings:
    """So many examples, however long each takes; with the profile `thorough` three times as many."""
    return settings(max_examples=number * settings().max_examples // USUAL, deadline=None, **others)
