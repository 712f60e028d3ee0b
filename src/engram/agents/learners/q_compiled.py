"""D3QN's networks and its learning step, each one compiled call: for vectors on the CPU."""

import numpy as np

from engram.agents.learners.front import Front
from engram.agents.learners.q_settings import QSettings, combination
from engram.agents.learners.rmsprop import Averages
from engram.compiling import compiled
from engram.networks.dense import NO_SUMS, Dense, add_to, as_rows, backward, forward, take_step
from engram.replay.transitions import Batch
from engram.typing import Array, Doubles, Floats, Longs
from engram.weights import require_finite


@compiled
def combine(heads: Floats, combination: Floats, q: Floats) -> None:
    """Q of every action from the heads of each row: [B, heads] · [heads, actions] → [B, actions]."""
    for row in range(len(heads)):
        for action in range(q.shape[1]):
            total = np.float32(0)
            for head in range(heads.shape[1]):
                total += heads[row, head] * combination[head, action]
            q[row, action] = total


@compiled
def run(parameters: Floats, widths: Longs, combination: Floats, x: Floats, layers: Floats, q: Floats) -> None:
    """Q of every action for every row of x, and what every layer gives."""
    forward(parameters, widths, x, layers)
    combine(layers[len(layers) - len(x) * len(combination) :].reshape(len(x), len(combination)), combination, q)


@compiled
def find_targets(
    online: Floats,
    target: Floats,
    widths: Longs,
    to_q: Floats,  # [heads, actions]
    following: Floats,  # [B, inputs], the observations that followed
    rewards: Floats,  # [B]
    ended: Array,  # [B] bool, nothing follows
    discount: float,
    double: bool,
    layers: Floats,  # room for what the layers give
) -> Floats:
    """y = r + γ Q'(s', argmaxₐ Q(s', a)), or r + γ maxₐ Q'(s', a) if not double, [B]."""
    q = np.empty((len(following), to_q.shape[1]), np.float32)
    choosing = q
    run(target, widths, to_q, following, layers, q)
    if double:
        choosing = np.empty_like(q)
        run(online, widths, to_q, following, layers, choosing)
    y = rewards.copy()
    for row in range(len(y)):
        if not ended[row]:
            y[row] += np.float32(discount) * q[row, np.argmax(choosing[row])]
    return y


@compiled
def learn(
    online: Floats,
    target: Floats,
    squares: Floats,
    widths: Longs,
    to_q: Floats,  # [heads, actions]
    observations: Floats,  # [B, inputs]
    actions: Longs,  # [B]
    rewards: Floats,  # [B]
    following: Floats,  # [B, inputs], the observations that followed
    ended: Array,  # [B] bool, nothing follows
    discount: float,
    double: bool,
    learning_rate: float,
    decay: float,
    epsilon: float,
    sums: Doubles,  # to which 1, the mean loss and the norm of the gradient are added; [0] if not wanted
) -> bool:
    """One step of RMSprop on the Huber loss between Q(s, a) and its target, summed; False if gradients overflow."""
    rows, heads = len(observations), len(to_q)
    layers = np.empty(rows * widths[1:].sum(), np.float32)
    y = find_targets(online, target, widths, to_q, following, rewards, ended, discount, double, layers)
    q = np.empty((rows, to_q.shape[1]), np.float32)
    run(online, widths, to_q, observations, layers, q)
    slopes = np.empty_like(layers)
    last = slopes[len(slopes) - rows * heads :].reshape(rows, heads)
    loss = 0.0
    for row in range(rows):
        error = q[row, actions[row]] - y[row]
        loss += error**2 / 2 if abs(error) <= 1 else abs(error) - 0.5
        slope = error if np.isnan(error) else min(max(error, np.float32(-1)), np.float32(1))
        for head in range(heads):
            last[row, head] = slope * to_q[head, actions[row]]
    gradient = np.empty_like(online)
    backward(online, widths, observations, layers, slopes, gradient)
    taken = take_step(online, squares, gradient, learning_rate, decay, epsilon)
    if taken:
        add_to(sums, loss / rows, gradient)
    return taken


class CompiledQ:
    """The network Q, its target network Q', and how Q learns: features, ReLU, and one linear layer of heads.

    The same observation under the same weights has the same bits alone and in a batch.
    """

    def __init__(
        self, front: Front, widths: tuple[int, ...], actions: int, settings: QSettings, rng: np.random.Generator
    ) -> None:
        self.front, self.settings = front, settings
        self._inputs, self._to_q = widths[0], combination(actions, settings.dueling)
        self.online, self.target = (Dense((*widths, len(self._to_q))) for _ in range(2))
        self.online.draw(rng)
        self.renew_target()
        self.optimiser = Averages(self.online)
        self._numbers = settings.learning_rate, settings.rmsprop_decay, settings.rmsprop_epsilon

    def __call__(self, observations: Array) -> Floats:
        """Q of every action, [B, …] → [B, actions]."""
        online, x = self.online, self._rows(observations)
        q = np.empty((len(x), self._to_q.shape[1]), np.float32)
        run(online.parameters, online.widths, self._to_q, x, online.room(len(x)), q)
        return q

    def target_values(self, observations: Array) -> Floats:
        """The target network's Q' of every action, [B, …] → [B, actions]."""
        target, x = self.target, self._rows(observations)
        q = np.empty((len(x), self._to_q.shape[1]), np.float32)
        run(target.parameters, target.widths, self._to_q, x, target.room(len(x)), q)
        return q

    def renew_target(self) -> None:
        """Make the target network equal to the network."""
        self.target.parameters[:] = self.online.parameters

    def learn(self, batch: Batch, sums: Doubles = NO_SUMS) -> None:
        """One step of RMSprop on the Huber loss between Q(s, a) and the targets, summed over the batch.

        To `sums`, unless it is empty, 1, the mean loss and the norm of the gradient are added.
        """
        learned = learn(
            self.online.parameters,
            self.target.parameters,
            self.optimiser.squares,
            self.online.widths,
            self._to_q,
            self._rows(batch.observations),
            batch.actions,
            batch.rewards,
            *self._following(batch),
            *self._numbers,
            sums,
        )
        require_finite(learned)

    def tell(self) -> None:
        """Nothing is waited for: a step is done when `learn` returns."""

    def targets(self, batch: Batch) -> Floats:
        """y = r + γ Q'(s', argmaxₐ Q(s', a)), or r + γ maxₐ Q'(s', a) if not double; nothing follows an end. [B]."""
        online, target = self.online, self.target
        following, ended, discount, double = self._following(batch)
        room = online.room(len(following))
        return find_targets(
            online.parameters,
            target.parameters,
            online.widths,
            self._to_q,
            following,
            batch.rewards,
            ended,
            discount,
            double,
            room,
        )

    def _following(self, batch: Batch) -> tuple[Floats, Array, float, bool]:
        """What followed, where nothing did, the discount, and whether the network itself chooses the action."""
        settings = self.settings
        return self._rows(batch.next_observations), settings.ended(batch), float(settings.discount), settings.double

    def _rows(self, observations: Array) -> Floats:
        return as_rows(self.front(observations), self._inputs)
