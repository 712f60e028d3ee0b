"""One seed, one generator per component: what one part draws never shifts what another sees."""

from typing import Any

import numpy as np

from engram.errors import InvalidInputError

# A component's place here decides what it draws, and so every result: add at the end, never reorder.
COMPONENTS = ("policy", "games", "evaluation", "encoder", "replay", "prediction", "exploration", "strategy")


def _sequence(seed: int, component: str, number: int = 0) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(COMPONENTS.index(component), number))


def generator(seed: int, component: str) -> np.random.Generator:
    """The component's own generator."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, component)))


def reset_seed(seed: int, component: str, number: int) -> int:
    """The seed with which the component's environment begins game or episode `number`."""
    return int(_sequence(seed, component, number + 1).generate_state(1)[0])


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """A generator's position, as plain numbers."""
    return dict(rng.bit_generator.state)


def set_generator_state(rng: np.random.Generator, state: dict[str, Any]) -> None:
    """Set a generator to a saved position, if it is one of a PCG64."""
    numbers = {**state["state"], **{name: state[name] for name in ("has_uint32", "uinteger")}}
    limits = {"state": 2**128, "inc": 2**128, "has_uint32": 2, "uinteger": 2**32}
    whole = set(numbers) == set(limits) and all(type(number) is int for number in numbers.values())
    right = whole and all(0 <= numbers[name] < limit for name, limit in limits.items()) and numbers["inc"] % 2 == 1
    if state["bit_generator"] != "PCG64" or not right:
        raise InvalidInputError(f"a generator must be at a position of a PCG64, got {state!r:.300}")
    rng.bit_generator.state = state
