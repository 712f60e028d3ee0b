"""NEC's network and its learning step with PyTorch: for images, GPUs and networks of one's own."""

from typing import Any, ClassVar

import numpy as np

from engram.agents.learners.feeds import Sent, encoded, kind_of, source_for
from engram.agents.learners.front import Front
from engram.agents.learners.key_settings import KeySettings, checked, learn_entries
from engram.agents.learners.rmsprop_torch import Feedback, RMSprop
from engram.compiling import compiled
from engram.devices import check_weights, put, torch
from engram.memory import EpisodicMemory
from engram.memory.probe import Near
from engram.networks import Network, make_module
from engram.networks.dense import NO_SUMS
from engram.networks.inference import infer
from engram.networks.inputs import as_input
from engram.recording import Exchange, Field, Recorded, Recordings
from engram.replay.returns import ReturnBatch
from engram.typing import Array, Doubles, Floats, Longs


class TorchKeys:
    """Observations to keys, and how the network learns where to put them.

    PyTorch's rounding depends on the batch.
    """

    def __init__(
        self, front: Front, network: Network, settings: KeySettings, rng: np.random.Generator, device: str
    ) -> None:
        self.front, self.settings, self.device = front, settings, torch.device(device)
        self.module = make_module(network, front.shape, settings.key_size, rng).to(self.device)
        self.optimiser = RMSprop(
            self.module.parameters(),
            learning_rate=settings.learning_rate,
            decay=settings.rmsprop_decay,
            epsilon=settings.rmsprop_epsilon,
        )
        self._steps: Recordings[KeyStep] = Recordings()

    @property
    def settled(self) -> bool:
        """Whether the encoder in front has settled; the network goes on learning."""
        return self.front.settled

    def update(self, observation: Array) -> None:
        """Show the encoder in front the observation of a training step."""
        self.front.update(observation)

    def __call__(self, observations: Array) -> Floats:
        """[B, …] → [B, key_size]."""
        with torch.no_grad():
            keys = self.module(as_input(torch.tensor(encoded(self.front, observations)), self.device))
        return checked(keys.cpu().numpy())

    def check_valid(self) -> None:
        """Raise an error unless the last step could be taken, and every weight can be saved and loaded."""
        for step in self._steps:
            step.check_valid()
        check_weights(self.module.parameters())

    def state_dict(self) -> dict[str, Any]:
        """The network's weights, by name."""
        return dict(self.module.state_dict())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for name, weight in self.module.named_parameters():
            put(weight, state[name])

    def learn(self, batch: ReturnBatch, memory: EpisodicMemory, sums: Doubles = NO_SUMS) -> None:
        """One step of RMSprop on the mean of (Q(s, a) − R)² over a batch of remembered states.

        To `sums`, unless it is empty, 1, the loss and the norm of its gradient are added when the step is done.
        """
        like, watched = encoded(self.front, batch.observations), len(sums) > 0
        key = id(memory), kind_of(like), watched
        self._steps.get(key, lambda: KeyStep(self, memory, like, watched=watched)).learn(batch, like, sums)

    def tell(self) -> None:
        """Wait for the last step, so that sums are whole."""
        for step in self._steps:
            step.check_valid()


@compiled
def put_targets(
    sizes: Longs,  # of the tables
    actions: Longs,  # [B]
    returns: Floats,  # [B]
    to_returns: Floats,  # [B, 1], out
    empty: Floats,  # [B, 1], out: 1 where the table is empty, which predicts 0 whatever the network says
    factors: Floats,  # [B, 1], out: of Q − R in the slope of the mean of (Q − R)² over the others
) -> bool:
    """What a learning step needs besides observations; whether there is anything to learn."""
    count = 0
    for action in actions:
        count += sizes[action] > 0
    factor = np.float32(2 / max(count, 1))
    for b in range(len(actions)):
        there = sizes[actions[b]] > 0
        to_returns[b, 0], empty[b, 0], factors[b, 0] = returns[b], 0 if there else 1, factor if there else 0
    return count > 0


class KeyStep:
    """A learning step with batches of one kind, recorded."""

    def __init__(self, network: TorchKeys, memory: EpisodicMemory, like: Any, *, watched: bool) -> None:
        self._network, self._memory, device, size = network, memory, network.device, len(like)
        self._source = source_for(1, like)
        self._probe: Any = memory.probe_each(size) or HostProbe(memory)
        fields: dict[str, Field] = dict.fromkeys(("returns", "factors", "empty"), ((size, 1), np.float32))
        fields["due"] = ((), np.bool_)
        self._given = Exchange(device, self._source.fields | self._probe.fields | fields)
        self._found = Feedback(device, watched=watched)
        near = size, min(memory.neighbours, memory.capacity)
        rows = {"keys": ((*near, memory.key_size), np.float32), "values": (near, np.float32)}
        slopes = {f"by_{name}": field for name, field in rows.items()}
        self._entries = Exchange(device, rows | slopes) if network.settings.learn_memory else None
        self._at_once = self._entries is None and self._probe.has_slopes
        changes = [*network.optimiser.state, self._found.healthy]
        self._recorded = Recorded(self._work, device, changes=changes, possible=self._probe.recordable)

    def learn(self, batch: ReturnBatch, observations: Any, sums: Doubles) -> None:
        """Take the step with a batch whose observations are encoded; on a GPU, it goes on after this returns."""
        self.check_valid()
        self._source.take(self._given, observations)
        here = self._given.here
        given = self._memory.size, batch.actions, batch.returns
        here["due"][()] = put_targets(*given, here["returns"], here["empty"], here["factors"])
        self._probe.aim(self._given, batch.actions)
        self._recorded()
        self._found.tell(sums)
        self._recorded.wait_for_mark()
        if not self._probe.usable():
            self.check_valid()
        self._probe.touch()
        if self._entries is not None or self._network.device.type == "cpu":
            self.check_valid()
        if self._entries is not None:
            self._learn_entries(self._entries.here)

    def check_valid(self) -> None:
        """Raise DivergedError if the last step could not be taken; waits for it."""
        self._recorded.wait()
        self._found.take()

    def _work(self) -> None:
        """The network, the search, the gradient and RMSprop."""
        network, optimiser, given = self._network, self._network.optimiser, self._given.there
        self._given.send()
        h = network.module(self._source.get(self._given)[0])
        with torch.no_grad():
            by_h, losses, sound = self._slopes_at_once(h) if self._at_once else self._slopes(h)
        gradients = torch.autograd.grad(h, optimiser.parameters, by_h)
        squared = optimiser.step(gradients, sound=sound, due=given["due"], healthy=self._found.healthy)
        if self._found.watched:
            self._found.note(losses.sum(), squared)
        self._found.fetch()

    def _slopes_at_once(self, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        """As `_slopes`, in one kernel; ∂L/∂h is NaN where a key cannot be searched, so that the step is not taken."""
        given, delta = self._given.there, self._network.settings.delta
        targets = [given[name] for name in ("returns", "factors", "empty")]
        found = self._probe.slopes(self._given, h.detach(), targets, delta)
        self._recorded.mark()
        return *found, None

    def _slopes(self, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """∂L/∂h, the parts of L, and whether they can be used; the entries near h get theirs too, if they learn."""
        given = self._given.there
        near = self._probe.find(self._given, h.detach())
        self._recorded.mark()
        estimated = Estimate(h, near, given["empty"], self._network.settings.delta)
        error = estimated.q - given["returns"]
        slope = error * given["factors"]
        sound = near.usable
        if self._entries is not None:
            slopes = estimated.slopes_of_entries(slope)
            sound = sound & torch.stack([torch.isfinite(each.square().sum()) for each in slopes]).all()
            for name, tensor in zip(self._entries.there, (near.keys, near.values, *slopes), strict=True):
                self._entries.there[name].copy_(tensor)
            self._entries.fetch()
        return estimated.slope_of_h(slope), error * slope / 2, sound

    def _learn_entries(self, near: dict[str, Array]) -> None:
        """The same step for the neighbours; an entry may be one of several states: its gradients add up."""
        unique, first, back = np.unique(self._probe.entries(), return_index=True, return_inverse=True)
        rows = {
            name: np.concatenate([near[f"{name}keys"], near[f"{name}values"][..., None]], 2).reshape(back.size, -1)
            for name in ("", "by_")
        }
        gradients = np.zeros((len(unique), rows["by_"].shape[1]), np.float32)
        np.add.at(gradients, back.reshape(-1), rows["by_"])
        real = unique >= 0
        if real.any():
            numbers = rows[""][first]
            learn_entries(self._memory, self._network.settings, unique[real], numbers[real], gradients[real])


class HostProbe:
    """As `engram.memory.probe.ProbeEach`, for a memory in main memory."""

    recordable = has_slopes = False
    fields: ClassVar[dict[str, Field]] = {}

    def __init__(self, memory: EpisodicMemory) -> None:
        self._memory = memory
        self._actions = self._entries = np.zeros(0, np.int64)

    def aim(self, exchange: Exchange, actions: Longs) -> None:
        """Say in which tables to search, [B]."""
        self._actions = actions

    def find(self, exchange: Exchange, queries: torch.Tensor) -> Near:
        """Search for queries [B, key_size], which counts as use; keys and values of what is near."""
        slots, found, keys, values, _ = self._memory.look_up(self._actions, checked(queries.numpy()), touch=True)
        there = np.arange(slots.shape[1]) < found[:, None]  # [B, k]
        self._entries = np.where(there, self._actions[:, None] * self._memory.capacity + slots, -1)
        given: list[Any] = [torch.from_numpy(each) for each in (keys, values, there)]
        return Near(given[0], given[1], given[2], torch.tensor(True))

    def usable(self) -> bool:
        """Whether every query could be searched, without which nothing was found."""
        return True

    def touch(self) -> None:
        """Nothing: looking up has told the strategy."""

    def entries(self) -> Longs:
        """What was found as action × capacity + slot, −1 for nothing, [B, k]."""
        return self._entries


class KeyGlance:
    """The key of one observation and its neighbours in all tables of a memory on a device, in one launch."""

    def __init__(self, network: TorchKeys, memory: EpisodicMemory) -> None:
        self._network, self._memory = network, memory
        self._views: Recordings[KeyView] = Recordings()
        self._found: Any = None

    def begin(self, observation: Array) -> None:
        """Begin to look at an observation; a GPU goes on with it beside the host."""
        batch = encoded(self._network.front, observation[None])
        self._views.get(kind_of(batch), lambda: KeyView(self._network, self._memory, batch)).begin(batch)

    def key(self) -> Floats:
        """The key of that observation, [1, key_size], once it is found."""
        keys, self._found = self._views.last.end()
        return keys

    def read(self) -> Floats:
        """Q of every action at that key, [1, actions], which counts as use."""
        return self._memory.read_found(self._found)


class KeyView:
    """What `KeyGlance` does for observations of one kind, recorded."""

    def __init__(self, network: TorchKeys, memory: EpisodicMemory, like: Array) -> None:
        self._network, self._source = network, Sent(1, like)
        self._probe: Any = memory.probe_all(1)
        self._given = Exchange(network.device, self._source.fields)
        self._found = Exchange(network.device, {"key": ((1, memory.key_size), np.float32)})
        self._recorded = Recorded(self._work, network.device, possible=self._probe.recordable)

    def begin(self, batch: Array) -> None:
        """Begin with an encoded observation [1, …]."""
        self._source.take(self._given, batch)
        self._probe.aim()
        self._recorded()

    def end(self) -> tuple[Floats, Any]:
        """Its key, and what was found."""
        self._recorded.wait()
        return checked(self._found.here["key"].copy()), self._probe.found()

    @torch.no_grad()
    def _work(self) -> None:
        self._given.send()
        key = infer(self._network.module, self._source.get(self._given)[0])
        self._probe.find(key)
        self._found.there["key"].copy_(key)
        self._found.fetch()


class Estimate:
    """Q(s, a) = Σ wᵢ Qᵢ / W, wᵢ = 1/(dᵢ + δ), dᵢ = ‖h − hᵢ‖², W = Σ wᵢ, of a batch, and the slopes of a loss with it.

    ∂Q/∂dᵢ = wᵢ² (Q − Qᵢ)/W, from which those by h and hᵢ follow; ∂Q/∂Qᵢ = wᵢ/W. Q is 0 where `empty` [B, 1] is 1
    because there is no entry; elsewhere that is 0.
    """

    def __init__(self, h: torch.Tensor, near: Near, empty: torch.Tensor, delta: float) -> None:
        self._values = near.values  # [B, k]
        self._apart = h.unsqueeze(1) - near.keys  # [B, k, d]
        self._weights = near.there / (self._apart.square().sum(2) + delta)  # [B, k]
        self._shares = self._weights / (self._weights.sum(1, keepdim=True) + empty)  # wᵢ/W, [B, k]
        self.q = (self._shares * near.values).sum(1, keepdim=True)  # [B, 1]

    def _slope_of_distances(self, slope: torch.Tensor) -> torch.Tensor:
        """2 ∂L/∂dᵢ, [B, k], from ∂L/∂Q [B, 1]."""
        found: torch.Tensor = self.q - self._values
        return found.mul_(self._shares).mul_(self._weights).mul_(2 * slope)

    def slope_of_h(self, slope: torch.Tensor) -> torch.Tensor:
        """∂L/∂h, [B, d]."""
        return torch.bmm(self._slope_of_distances(slope).unsqueeze(1), self._apart).squeeze(1)

    def slopes_of_entries(self, slope: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """∂L/∂hᵢ [B, k, d] and ∂L/∂Qᵢ [B, k]."""
        by_distance = self._slope_of_distances(slope)
        return -by_distance.unsqueeze(2) * self._apart, self._shares * slope
