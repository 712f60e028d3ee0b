"""Learning and acting as recorded work: the same as operation by operation. Without a GPU nothing is recorded, but the
same functions of the same tensors are called."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram import D3QN, NEC, EpisodicMemory
from engram.agents.learners.keys_torch import KeyGlance, TorchKeys
from engram.agents.learners.q_torch import TorchQ
from engram.devices import torch
from engram.errors import DivergedError
from engram.memory.device import DeviceStore
from engram.networks import Network
from engram.networks.inputs import as_input
from engram.recording import Exchange, Recorded, Recordings
from engram.replay.mirror import Mirror
from engram.replay.returns import ReturnBatch, ReturnReplay
from engram.replay.transitions import Batch, TransitionReplay
from tests.agents.test_nec import Screen, estimate
from tests.conftest import assert_same_state

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")
NEEDS_GPU = pytest.mark.skipif(not GPU, reason="PyTorch sees no GPU")
SHAPE, ACTIONS, SIZE = (2, 36, 36), 3, 8
RATE = 1e-3


@pytest.fixture(autouse=True)
def deterministic() -> Iterator[None]:
    """Convolutions that add in the same order every time."""
    before = torch.backends.cudnn.deterministic
    torch.backends.cudnn.deterministic = True
    yield
    torch.backends.cudnn.deterministic = before


class Small(Network):
    """A convolution and a linear layer, for images of 36 pixels a side."""

    name = "small"

    def make(self, shape: tuple[int, ...], size: int) -> Any:
        convolution = torch.nn.Conv2d(shape[0], 4, 8, stride=4)
        return torch.nn.Sequential(convolution, torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(256, size))


class Turned(Small):
    """The same network, whose output lies in memory column by column."""

    name = "turned"

    def make(self, shape: tuple[int, ...], size: int) -> Any:
        class Turn(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x.t().contiguous().t()

        return torch.nn.Sequential(*super().make(shape, size), Turn())


class Bare:
    """In front of a network: nothing."""

    encoder, shape, settled = None, SHAPE, True

    def __call__(self, observations: Any) -> Any:
        return observations


def q_learner(device: torch.device = DEVICE, **options: Any) -> TorchQ:
    settings = D3QN("CartPole-v1", learning_rate=RATE, feature_size=16, **options).learner.settings
    front: Any = Bare()
    return TorchQ(front, Small(), ACTIONS, settings, np.random.default_rng(0), str(device))


def images(rng: np.random.Generator, count: int = SIZE) -> Any:
    return rng.integers(256, size=(count, *SHAPE), dtype=np.uint8)


def transitions(rng: np.random.Generator) -> Batch:
    return Batch(
        images(rng),
        rng.integers(ACTIONS, size=SIZE),
        rng.standard_normal(SIZE).astype(np.float32),
        images(rng),
        rng.random(SIZE) < 0.3,
        rng.random(SIZE) < 0.3,
    )


def assert_same_tensors(ours: Iterable[Any], theirs: Iterable[Any], *, exact: bool = not GPU) -> None:
    for mine, yours in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, yours, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6)


def plain_rmsprop(parameters: list[torch.Tensor], squares: list[torch.Tensor], loss: torch.Tensor) -> None:
    """m ← ρ m + (1 − ρ) g², θ ← θ − η g/√(m + ε), one parameter after the other."""
    for parameter, m, g in zip(parameters, squares, torch.autograd.grad(loss, parameters), strict=True):
        m.mul_(0.95).addcmul_(g, g, value=1 - 0.95)
        parameter.data.addcdiv_(g, (m + 1e-2).sqrt(), value=-RATE)


@pytest.mark.parametrize("options", [{}, {"double": False}, {"dueling": False, "bootstrap_truncated": True}])
def test_a_step_of_d3qn_is_that_of_its_equations(options: dict[str, Any]) -> None:
    ours, plain = q_learner(**options), q_learner(**options)
    squares = [torch.zeros_like(parameter) for parameter in plain.online.parameters]
    rng, begun = np.random.default_rng(1), [each.detach().clone() for each in ours.online.parameters]
    for step in range(12):
        batch = transitions(rng)
        ours.learn(batch)
        now, following = (
            as_input(torch.tensor(some), DEVICE) for some in (batch.observations, batch.next_observations)
        )
        with torch.no_grad():
            values = plain.target.forward(following)
            choosing = plain.online.forward(following) if plain.settings.double else values
        value = values.cpu().numpy()[np.arange(SIZE), choosing.cpu().numpy().argmax(1)]
        value[plain.settings.ended(batch)] = 0
        targets = torch.from_numpy(value * np.float32(plain.settings.discount) + batch.rewards).to(DEVICE)
        taken = plain.online.forward(now).gather(1, torch.from_numpy(batch.actions[:, None]).to(DEVICE))[:, 0]
        plain_rmsprop(plain.online.parameters, squares, torch.nn.functional.huber_loss(taken, targets, reduction="sum"))
        if step == 5:
            for learner in (ours, plain):
                learner.renew_target()
    assert_same_tensors(ours.online.parameters, plain.online.parameters)
    assert_same_tensors(ours.target.parameters, plain.target.parameters)
    assert_same_tensors(ours.optimiser.squares, squares)
    assert all((now != was).any() for now, was in zip(ours.online.parameters, begun, strict=True))


def key_learner(*, learn_memory: bool = False, network: type[Network] = Small) -> TorchKeys:
    settings = NEC("CartPole-v1", learning_rate=RATE, key_size=5, capacity=30, learn_memory=learn_memory)
    front: Any = Bare()
    return TorchKeys(front, network(), settings.network.settings, np.random.default_rng(0), str(DEVICE))


def memory_on(device: torch.device | None, *, companions: int = 0, strategy: str = "lru") -> EpisodicMemory:
    """A memory in main memory, or with its keys in tensors on a device, which may be the CPU."""
    options: dict[str, Any] = {"actions": ACTIONS, "key_size": 5, "capacity": 30, "match": 0.1}
    memory = EpisodicMemory(**options, neighbours=7, strategy=strategy, exact_read=False, companions=companions)
    if device is not None:
        store = memory._store
        memory._store = type("Store", (DeviceStore,), {"device": device})(
            actions=ACTIONS,
            key_size=5,
            capacity=30,
            companions=companions,
            strategy=memory.strategy,
            renewal=store.renewal,
            by_episode=False,
            reading=store.reading,
        )
    return memory


def returns(rng: np.random.Generator) -> ReturnBatch:
    return ReturnBatch(images(rng), rng.integers(ACTIONS, size=SIZE), rng.standard_normal(SIZE).astype(np.float32) * 5)


def write(memory: EpisodicMemory, rng: np.random.Generator, count: int) -> None:
    """States into the first two tables; the third stays empty."""
    for action in range(2):
        memory.write(action, rng.standard_normal((count, 5)).astype(np.float32) * 0.1, rng.standard_normal(count))


@pytest.mark.parametrize("strategy", ["lru", "dkm"])
def test_a_step_of_nec_is_that_of_its_equations(strategy: str) -> None:
    """Between steps entries are written, from none to more than there is room for."""
    ours, plain = key_learner(), key_learner()
    memory, other = memory_on(DEVICE, strategy=strategy), memory_on(None, strategy=strategy)
    parameters: list[torch.Tensor] = list(plain.module.parameters())
    squares = [torch.zeros_like(parameter) for parameter in parameters]
    rng = np.random.default_rng(1)
    for step in range(12):
        batch = returns(rng)
        ours.learn(batch, memory)
        h = plain.module(as_input(torch.tensor(batch.observations), DEVICE))
        near = other.look_up(batch.actions, h.detach().cpu().numpy(), touch=True)
        usable = near.found > 0
        if usable.any():
            there = (np.arange(near.slots.shape[1]) < near.found[:, None]).astype(np.float32)
            parts = [torch.from_numpy(each[usable]).to(DEVICE) for each in (near.keys, near.values, there)]
            q = estimate(h[torch.from_numpy(usable).to(DEVICE)], parts[0], parts[1], parts[2], plain.settings.delta)
            loss = (q - torch.from_numpy(batch.returns[usable]).to(DEVICE)).square().mean()
            plain_rmsprop(parameters, squares, loss)
        for each in (memory, other):
            write(each, np.random.default_rng(step), 4)
    learned = *ours.module.parameters(), *ours.optimiser.squares
    for number, expected in zip(learned, (*parameters, *squares), strict=True):
        torch.testing.assert_close(number, expected, rtol=1e-3, atol=1e-6)  # sums that nearly cancel, in another order
    for action in range(ACTIONS):
        mine, yours = memory.entries(action), other.entries(action)
        for name, array in mine.items():
            np.testing.assert_allclose(array, yours[name], rtol=1e-5, err_msg=name)


def test_keys_that_lie_in_memory_column_by_column_are_learned_from_the_same() -> None:
    learned = []
    for network in (Small, Turned):
        learner, memory, rng = key_learner(network=network), memory_on(DEVICE), np.random.default_rng(1)
        for step in range(4):
            write(memory, np.random.default_rng(step), 4)
            learner.learn(returns(rng), memory)
        learned.append(list(learner.module.parameters()))
    assert_same_tensors(*learned)


@pytest.mark.parametrize("where", [None, DEVICE])
def test_stored_entries_learn_the_same_on_a_device(where: torch.device | None) -> None:
    if GPU and where is None:
        pytest.skip("a network on a GPU has its memory's keys there")
    network, memory = key_learner(learn_memory=True), memory_on(where, companions=6)
    rng = np.random.default_rng(0)
    write(memory, rng, 20)
    before, batch = [memory.entries(action) for action in range(2)], returns(rng)
    h = network.module(as_input(torch.tensor(batch.observations), DEVICE)).detach().cpu()
    near = memory.look_up(batch.actions, h.numpy())
    leaves = [
        (torch.from_numpy(each["keys"]).requires_grad_(), torch.from_numpy(each["values"]).requires_grad_())
        for each in before
    ]
    some = [row for row in range(SIZE) if near.found[row]]
    q = []
    for row in some:
        keys, values = (part[near.slots[row].astype(np.int64)][None] for part in leaves[batch.actions[row]])
        q.append(estimate(h[row : row + 1], keys, values, torch.ones(values.shape), network.settings.delta)[0])
    (torch.stack(q) - torch.from_numpy(batch.returns[some])).square().mean().backward()  # type: ignore[no-untyped-call]
    network.learn(batch, memory)
    for action, (keys, values) in enumerate(leaves):
        after = memory.entries(action)
        for name, leaf in (("keys", keys), ("values", values)):
            assert leaf.grad is not None
            gradient = leaf.grad.numpy()
            expected = before[action][name] - RATE * gradient / np.sqrt(0.05 * gradient**2 + 1e-2)
            np.testing.assert_allclose(after[name], expected, rtol=1e-4, atol=1e-6)
            assert (after[name] != before[action][name]).any()
    assert memory.companions[:2].any()


def test_acting_on_a_device_finds_what_reading_does() -> None:
    network, rng = key_learner(), np.random.default_rng(0)
    memory, other = memory_on(DEVICE), memory_on(DEVICE)
    glance = KeyGlance(network, memory)
    for _ in range(6):
        for each in (memory, other):
            write(each, np.random.default_rng(len(each.entries(0)["keys"])), 7)
        seen = images(rng, 1)
        glance.begin(seen[0])
        key = glance.key()
        np.testing.assert_allclose(key, network(seen), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(glance.read(), other.read(key, touch=True), rtol=1e-5)
        for action in range(ACTIONS):
            np.testing.assert_array_equal(memory.entries(action)["last_used"], other.entries(action)["last_used"])


@pytest.mark.parametrize("shape", [SHAPE, (36, 36), (4,)])
def test_a_mirror_holds_what_the_replay_does(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    replay, other = (TransitionReplay(20, shape, np.uint8) for _ in range(2))
    replay.mirror = mirror = Mirror(replay._observations, DEVICE)
    frames = rng.integers(256, size=(100, *shape[-2:]), dtype=np.uint8)
    draws = [np.random.default_rng(5) for _ in range(2)]

    def check() -> None:
        drawn, plain = (each.sample(draw, 6) for each, draw in zip((replay, other), draws, strict=True))
        np.testing.assert_array_equal(drawn.actions, plain.actions)
        mirror.follow()
        for mine, yours in (
            (drawn.observations, plain.observations),
            (drawn.next_observations, plain.next_observations),
        ):
            rows = mirror.rows[torch.from_numpy(mine.places).to(DEVICE)].cpu().numpy()
            np.testing.assert_array_equal(rows, yours)

    for step in range(70):
        stack = frames[step : step + 2] if shape == SHAPE else frames[step].reshape(shape)
        for each in (replay, other):
            each.begin(stack) if step % 9 == 0 else each.add(step % 3, 1.0, stack, terminated=step % 9 == 8)
        if step > 5 and step % 4 == 0:
            check()
    replay.load_state_dict(other.state_dict())
    check()


def test_learning_from_a_mirror_is_learning_from_arrays() -> None:
    replays = [ReturnReplay(50, SHAPE, np.uint8) for _ in range(2)]
    replays[1].mirror_on(DEVICE)
    rng, draws = np.random.default_rng(0), [np.random.default_rng(1) for _ in range(2)]
    networks, memories = [key_learner() for _ in range(2)], [memory_on(DEVICE) for _ in range(2)]
    for memory in memories:
        write(memory, np.random.default_rng(2), 20)
    for _ in range(4):
        for seen in images(rng, 30):
            for replay in replays:
                replay.add(seen, 1)
        for replay, network, memory, draw in zip(replays, networks, memories, draws, strict=True):
            replay.finish(np.arange(30, dtype=np.float32))
            network.learn(replay.sample(draw, SIZE), memory)
    first, second = (list(network.module.parameters()) for network in networks)
    assert_same_tensors(first, second, exact=True)


def test_a_mirror_that_does_not_fit_is_told_of_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engram.replay.mirror.free_on", lambda device: 1000)
    replay = ReturnReplay(50, SHAPE, np.uint8)
    with pytest.warns(RuntimeWarning, match=r"take .* are free on .*choose a smaller replay_size"):
        replay.mirror_on(DEVICE)
    replay.add(np.zeros(SHAPE, np.uint8), 0)
    replay.finish(np.zeros(1, np.float32))
    assert isinstance(replay.sample(np.random.default_rng(0), 2).observations, np.ndarray)


def test_a_step_that_diverges_changes_nothing_and_is_told_of() -> None:
    learner, rng = q_learner(), np.random.default_rng(0)
    learner.learn(transitions(rng))
    before = [tensor.detach().clone() for tensor in learner.optimiser.state]
    far = transitions(rng)._replace(rewards=np.full(SIZE, np.nan, np.float32))

    def learn_and_save() -> None:
        learner.learn(far)  # on a GPU, only begun
        learner.check_valid()

    for _ in range(2):
        with pytest.raises(DivergedError, match="learning has diverged"):
            learn_and_save()
        assert_same_tensors(learner.optimiser.state, before, exact=True)
    learner.learn(transitions(rng))
    learner.check_valid()
    assert (learner.optimiser.state[0] != before[0]).any()


@NEEDS_GPU
def test_the_next_step_tells_of_one_that_diverged() -> None:
    learner, rng = q_learner(), np.random.default_rng(0)
    learner.learn(transitions(rng)._replace(rewards=np.full(SIZE, np.nan, np.float32)))
    with pytest.raises(DivergedError, match="learning has diverged"):
        learner.learn(transitions(rng))


def test_keys_that_are_not_finite_stop_nec_before_anything_changes() -> None:
    network, memory, rng = key_learner(), memory_on(DEVICE), np.random.default_rng(0)
    write(memory, rng, 20)
    network.learn(returns(rng), memory)
    with torch.no_grad():
        network.module[-1].bias[0] = torch.nan  # type: ignore[index]
    before = [tensor.detach().clone() for tensor in network.optimiser.state]
    with pytest.raises(DivergedError):
        network.learn(returns(rng), memory)
    for mine, was in zip(network.optimiser.state, before, strict=True):
        torch.testing.assert_close(mine, was, rtol=0, atol=0, equal_nan=True)
    glance = KeyGlance(network, memory)
    glance.begin(images(rng, 1)[0])
    with pytest.raises(DivergedError, match="the network gives keys that are not finite"):
        glance.key()


@pytest.mark.parametrize("kind", [NEC, D3QN])
def test_a_copy_of_an_agent_goes_on_by_itself(kind: Any) -> None:
    settings: dict[str, Any] = {"seed": 0, "replay_size": 200, "learning_start_steps": 20, "device": DEVICE.type}
    agent = kind(Screen, **settings).learn(60)
    copy = deepcopy(agent)
    assert_same_state(copy.learn(30), agent.learn(30))


@NEEDS_GPU
@pytest.mark.parametrize("kind", [NEC, D3QN])
def test_recorded_steps_are_those_that_are_not(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights to the last bits, and the same actions."""
    settings: dict[str, Any] = {"seed": 0, "replay_size": 200, "learning_start_steps": 20, "device": "cuda"}
    settings |= {"epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 50}
    agents = []
    for graphs in (True, False):
        monkeypatch.setattr(Recorded, "graphs", graphs)
        agents.append(kind(Screen, **settings, learning_rate=1e-4).learn(150))
    mine, yours = (agent.optimiser.parameters for agent in agents)
    for ours, theirs in zip(mine, yours, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-7)
    actions = [agent.replay.state_dict()["entries"]["actions"] for agent in agents]
    np.testing.assert_array_equal(*actions)


@NEEDS_GPU
def test_what_was_found_is_back_when_the_mark_is_passed() -> None:
    network, memory, rng = key_learner(), memory_on(DEVICE), np.random.default_rng(0)
    write(memory, rng, 30)
    for _ in range(100):
        network.learn(returns(rng), memory)
        (step,) = network._steps
        back = step._probe.entries()
        torch.cuda.synchronize()
        np.testing.assert_array_equal(step._probe.entries(), back)


@NEEDS_GPU
@pytest.mark.parametrize("kind", [NEC, D3QN])
def test_on_a_gpu_too_a_stopped_run_goes_on_exactly(kind: Any, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"seed": 0, "replay_size": 200, "learning_start_steps": 20, "device": "cuda"}
    settings |= {"epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 100}
    whole = kind(Screen, **settings).learn(160)
    kind(Screen, **settings).learn(90).save(tmp_path / "model.safetensors")
    assert_same_state(whole, kind.load(tmp_path / "model.safetensors", Screen).learn(70))


class Asks(Small):
    """A network that waits for the device, which no recording can hold."""

    name = "asks"

    def make(self, shape: tuple[int, ...], size: int) -> Any:
        class Layer(torch.nn.Module):
            def forward(self, batch: torch.Tensor) -> torch.Tensor:
                return batch * (1 if batch.sum().item() >= 0 else -1)

        return torch.nn.Sequential(Layer(), super().make(shape, size))


@NEEDS_GPU
def test_what_cannot_be_recorded_is_launched_piece_by_piece() -> None:
    ours, plain = q_learner(), q_learner()
    waits = TorchQ(ours.front, Asks(), ACTIONS, ours.settings, np.random.default_rng(0), "cuda")
    batch = transitions(np.random.default_rng(0))
    with pytest.warns(RuntimeWarning, match="cannot be recorded as a CUDA graph"):
        waits.learn(batch)
    waits.learn(batch)
    for learner in (ours, plain):
        learner.learn(batch)
        learner.learn(batch)
    assert_same_tensors(waits.online.parameters, ours.online.parameters)
    assert_same_tensors(plain.online.parameters, ours.online.parameters)


def test_an_exchange_copies_all_arrays_at_once_and_recordings_are_few() -> None:
    exchange = Exchange(DEVICE, {"a": ((3,), np.int64), "b": ((), np.bool_), "c": ((2, 5), np.float32)})
    exchange.here["a"][:], exchange.here["b"][()], exchange.here["c"][:] = [1, 2, 3], True, 0.5
    exchange.send()
    assert exchange.there["a"].tolist() == [1, 2, 3]
    assert exchange.there["b"].item() is True
    exchange.there["c"].mul_(2)
    exchange.fetch()
    if GPU:
        torch.cuda.synchronize()
    assert exchange.here["c"].tolist() == [[1.0] * 5] * 2
    kept: Recordings[list[int]] = Recordings()
    first = kept.get(0, list)
    assert kept.get(0, list) is first
    for key in range(1, 20):
        kept.get(key, list)
    assert kept.get(0, list) is not first
