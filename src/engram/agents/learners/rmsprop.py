"""RMSprop as the paper's authors ran it: its settings, and what it keeps beside a compiled network."""

from typing import Any

import numpy as np

from engram.envs.observed import LARGEST
from engram.networks.dense import Dense
from engram.weights import check_fit

RMSPROP_LIMITS: dict[str, tuple[float, float]] = {  # of the settings of agents that learn with it
    "learning_rate": (0, 1),
    "rmsprop_decay": (0, 1),
    "rmsprop_epsilon": (1e-30, 1),
}


class Averages:
    """The average of the squared gradient of every parameter of a network: `squares`, in the order of its parameters.

    The step itself is a kernel, `engram.networks.dense.take_step`.
    """

    def __init__(self, network: Dense) -> None:
        self.network, self.squares = network, np.zeros_like(network.parameters)

    def state_dict(self) -> dict[str, Any]:
        """The averages, by the number of their parameter."""
        return {str(number): array.copy() for number, array in enumerate(self.network.arrays(self.squares))}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for number, array in enumerate(self.network.arrays(self.squares)):
            array[...] = check_fit(state[str(number)], array.shape, lowest=0.0, highest=LARGEST)
