"""What an agent does, as a few arrays from which NumPy alone chooses greedy actions; docs/runs.md has the reader."""

from typing import Any

import numpy as np

from engram.encoders import Encoder
from engram.encoders.identity import Identity
from engram.encoders.scaled import Scaled
from engram.errors import InvalidInputError
from engram.memory import EpisodicMemory
from engram.networks.dense import Dense
from engram.parts import Spaces
from engram.typing import Array

POLICY_FORMAT = "engram policy 1"
HASHED_BYTES = 4  # that the reader's hash takes at least at a time


def spaces_arrays(spaces: Spaces, first_action: int, seed: int, ties: str) -> dict[str, Array]:
    """What observations are, how actions are numbered, and how ties are broken."""
    shape, dtype, actions = spaces
    if len(shape) != 1 or shape[0] * dtype.itemsize % HASHED_BYTES:
        raise InvalidInputError(
            f"a policy can be exported for vectors of numbers of 32 or 64 bits, and observations are {dtype} of shape "
            f"{shape}; save the agent itself, and load it for prediction: load(path, for_prediction=True)"
        )
    plain = {"format": POLICY_FORMAT, "dtype": dtype.newbyteorder("<").str, "actions": actions}
    numbers = {"first_action": first_action, "seed": seed, "random_ties": ties == "random"}
    return {name: np.array(value) for name, value in {**plain, **numbers, "layers": 0}.items()}


def encoder_arrays(encoder: Encoder | None, size: int) -> dict[str, Array]:
    """An encoder that shifts and scales each number, or leaves all as they are."""
    if encoder is None or type(encoder) is Identity:
        return {"mean": np.zeros(size), "scale": np.ones(size)}
    if type(encoder) is Scaled and encoder.settled:
        return {"mean": encoder.mean.copy(), "scale": encoder.scale.copy()}
    why = "has not seen enough yet" if type(encoder) is Scaled else "is not one that shifts and scales each number"
    raise InvalidInputError(
        f"a policy can be exported with the encoders identity and scaled, and the agent's {encoder.name!r} {why}; save "
        "the agent itself, and load it for prediction: load(path, for_prediction=True)"
    )


def network_arrays(network: Any, spaces: Spaces, encoder: Encoder | None) -> dict[str, Array]:
    """The linear layers of a compiled network, with ReLUs between."""
    if not isinstance(network, Dense) or (encoder is None and spaces.observation_dtype == np.uint8):
        raise InvalidInputError(
            "a policy can be exported with a network of linear layers on the CPU, whose inputs are no bytes; save the "
            "agent itself, and load it for prediction: load(path, for_prediction=True)"
        )
    arrays = network.arrays(network.parameters.copy())
    weights = {f"weights{i}": np.ascontiguousarray(each.T) for i, each in enumerate(arrays[::2])}
    biases = {f"biases{i}": each for i, each in enumerate(arrays[1::2])}
    return {"layers": np.array(len(weights)), **weights, **biases}


def memory_arrays(memory: EpisodicMemory) -> dict[str, Array]:
    """The entries of all tables, and how they are read."""
    tables = [memory.entries(action) for action in range(memory.actions)]
    numbers = {"neighbours": memory.neighbours, "delta": memory.delta, "exact": memory.exact_read}
    return {
        "keys": np.concatenate([table["keys"] for table in tables]),
        "values": np.concatenate([table["values"] for table in tables]),
        "owners": np.repeat(np.arange(memory.actions), memory.size),
        "inverse": np.array(int(memory.kernel == "inverse")),
        **{name: np.array(value) for name, value in numbers.items()},
    }
