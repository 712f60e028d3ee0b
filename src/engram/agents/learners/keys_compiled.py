"""NEC's network and its learning step, compiled: for vectors on the CPU."""

from typing import Any

import numpy as np

from engram.agents.learners.front import Front
from engram.agents.learners.key_settings import KeySettings, checked, learn_entries
from engram.agents.learners.rmsprop import Averages
from engram.borrowing import borrowed
from engram.compiling import compiled
from engram.memory import EpisodicMemory
from engram.memory.quick import UNUSABLE, note, read_row, state_of_vector
from engram.memory.store import Neighbours
from engram.memory.strategies.compiled import CompiledStrategy
from engram.networks.dense import NO_SUMS, STEEPEST, Dense, add_to, as_rows, backward, forward, take_step
from engram.replay.returns import ReturnBatch
from engram.typing import Array, Doubles, Floats, Longs
from engram.weights import require_finite


@compiled
def slope_by_keys(
    keys: Floats,  # [B, d]
    near_keys: Floats,  # [B, k, d]
    near_values: Floats,  # [B, k]
    distances: Floats,  # [B, k], squared
    found: Longs,  # [B]
    returns: Floats,  # [B]
    delta: float,
    slopes: Floats,  # [B, d], out
    near_slopes: Floats,  # [B, k, d + 1] of each neighbour's key and value, out; [0, 0, 0] if not wanted
) -> float:
    """The mean of (Q(s, a) − R)², and its slopes, with Q = Σ wᵢ Qᵢ / Σ wᵢ and wᵢ = 1/(‖h − hᵢ‖² + δ).

    States whose table was empty do not count: it predicts 0 whatever the network says.
    """
    dims, loss = keys.shape[1], 0.0
    counted = max((found > 0).sum(), 1)
    weights = np.empty(near_values.shape[1], np.float64)
    for row in range(len(keys)):
        slopes[row] = np.float32(0)
        if found[row] == 0:
            continue
        total, whole = 0.0, 0.0
        for i in range(found[row]):
            weights[i] = 1 / (np.float64(distances[row, i]) + delta)
            total += weights[i] * near_values[row, i]
            whole += weights[i]
        q = total / whole
        loss += (q - returns[row]) ** 2
        outer = 2 * (q - returns[row]) / counted
        for i in range(found[row]):
            share = weights[i] / whole
            inner = np.float32(-2 * outer * share * weights[i] * (near_values[row, i] - q))
            for dim in range(dims):
                slopes[row, dim] += inner * (keys[row, dim] - near_keys[row, i, dim])
            if len(near_slopes):
                for dim in range(dims):
                    near_slopes[row, i, dim] = -inner * (keys[row, dim] - near_keys[row, i, dim])
                near_slopes[row, i, dims] = outer * share
    return float(loss / counted)


@compiled
def learn(
    parameters: Floats,
    squares: Floats,
    widths: Longs,
    x: Floats,  # [B, inputs]
    layers: Floats,  # as the forward pass gave them
    near_keys: Floats,  # [B, k, d]
    near_values: Floats,  # [B, k]
    distances: Floats,  # [B, k], squared
    found: Longs,  # [B]
    returns: Floats,  # [B]
    delta: float,
    learning_rate: float,
    decay: float,
    epsilon: float,
    near_slopes: Floats,  # [B, k, d + 1], out; [0, 0, 0] if not wanted
    sums: Doubles,  # to which 1, the loss and the norm of its gradient are added; [0] if not wanted
) -> bool:
    """One step of RMSprop on the mean of (Q(s, a) − R)²; False, and nothing is changed, if gradients overflow."""
    slopes = np.empty_like(layers)
    rows, dims = len(x), widths[-1]
    first = len(layers) - rows * dims
    keys, by_keys = layers[first:].reshape(rows, dims), slopes[first:].reshape(rows, dims)
    loss = slope_by_keys(keys, near_keys, near_values, distances, found, returns, delta, by_keys, near_slopes)
    for slope in near_slopes.flat:
        if not abs(slope) * rows <= STEEPEST:  # an entry may be near to all states
            return False
    gradient = np.empty_like(parameters)
    backward(parameters, widths, x, layers, slopes, gradient)
    taken = take_step(parameters, squares, gradient, learning_rate, decay, epsilon)
    if taken:
        add_to(sums, loss, gradient)
    return taken


@compiled
def act(
    strategy: CompiledStrategy,
    desk: Longs,
    delta: float,
    observation: Floats,
    row: int,
    reads: bool,
    parameters: Floats,
    widths: Longs,
    layers: Floats,  # room for what the layers give
) -> int:
    """As `quick.act`, with the key that the network makes of the observation."""
    observation, layers = borrowed(observation), borrowed(layers)
    forward(parameters, widths, observation.reshape(1, len(observation)), layers)
    if not note(desk, row, layers[len(layers) - widths[-1] :], state_of_vector(observation)):
        return UNUSABLE
    return read_row(strategy, desk, delta, row) if reads else 0


class CompiledKeys:
    """Observations to keys, and how the network learns where to put them.

    The same observation under the same weights has the same bits alone and in a batch.
    """

    def __init__(self, front: Front, widths: tuple[int, ...], settings: KeySettings, rng: np.random.Generator) -> None:
        self.front, self.settings = front, settings
        names = [f"{2 * layer}.{part}" for layer in range(len(widths) - 1) for part in ("weight", "bias")]
        self.dense = Dense(widths, names)
        self.dense.draw(rng)
        self.optimiser = Averages(self.dense)
        self._inputs = widths[0]
        self._numbers = settings.delta, settings.learning_rate, settings.rmsprop_decay, settings.rmsprop_epsilon
        self._unwanted = np.zeros((0, 0, 0), np.float32)

    @property
    def settled(self) -> bool:
        """Whether the encoder in front has settled; the network goes on learning."""
        return self.front.settled

    def update(self, observation: Array) -> None:
        """Show the encoder in front the observation of a training step."""
        self.front.update(observation)

    def __call__(self, observations: Array) -> Floats:
        """[B, …] → [B, key_size]."""
        return checked(self.dense(as_rows(self.front(observations), self._inputs)))

    def way_to_act(self) -> tuple[Any, tuple[Array, ...], int]:
        """The kernel that acts by the network's keys, what it needs besides, and the numbers of an observation."""
        return act, (self.dense.parameters, self.dense.widths, self.dense.room(1)), self._inputs

    def learn(self, batch: ReturnBatch, memory: EpisodicMemory, sums: Doubles = NO_SUMS) -> None:
        """One step of RMSprop on the mean of (Q(s, a) − R)² over a batch of remembered states.

        To `sums`, unless it is empty, 1, the loss and the norm of its gradient are added.
        """
        dense, settings = self.dense, self.settings
        x = as_rows(self.front(batch.observations), self._inputs)
        layers = dense.run(x)
        near = memory.look_up(batch.actions, checked(dense.last(layers, len(x))), touch=True)
        slopes = self._unwanted
        if settings.learn_memory:
            slopes = np.zeros((*near.slots.shape, settings.key_size + 1), np.float32)
        learned = learn(
            dense.parameters,
            self.optimiser.squares,
            dense.widths,
            x,
            layers,
            near.keys,
            near.values,
            near.distances,
            near.found,
            batch.returns,
            *self._numbers,
            slopes,
            sums,
        )
        require_finite(learned)
        if settings.learn_memory:
            self._learn_entries(memory, batch.actions, near, slopes)

    def _learn_entries(self, memory: EpisodicMemory, actions: Longs, near: Neighbours, slopes: Floats) -> None:
        """The same step for the neighbours; an entry may be one of several states: its gradients add up."""
        there = np.arange(near.slots.shape[1]) < near.found[:, None]  # [B, k]
        entries = (actions[:, None] * self.settings.capacity + near.slots)[there]
        unique, first, back = np.unique(entries, return_index=True, return_inverse=True)
        gradients = np.zeros((len(unique), slopes.shape[2]), np.float32)
        np.add.at(gradients, back, slopes[there])
        numbers = np.concatenate([near.keys, near.values[:, :, None]], 2)[there][first]
        learn_entries(memory, self.settings, unique, numbers, gradients)

    def tell(self) -> None:
        """Nothing is waited for: a step is done when `learn` returns."""

    def check_valid(self) -> None:
        """Raise InvalidInputError unless every weight is one that can be saved and loaded."""
        self.dense.check_valid()

    def state_dict(self) -> dict[str, Any]:
        """The network's weights, by name."""
        return self.dense.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.dense.load_state_dict(state)
