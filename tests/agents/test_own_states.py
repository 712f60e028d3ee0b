"""What parts of one's own remember comes back from a file type for type, or is refused with the part's name."""

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram import MFEC, EpisodicMemory
from engram.agents import Agent
from engram.encoders import Encoder
from engram.errors import InvalidInputError
from engram.exploration import Exploration, View
from engram.memory.strategies import Decision, Numbers, Strategy, Write, replace
from engram.parts import Spaces
from engram.typing import Array, Floats

REMEMBERED: dict[Any, Any] = {
    "pair": (1, 2.5),
    "by number": {3: "three", (0, 1): [np.float32(0.1), ()]},
    "arrays": [np.arange(3), np.int8(2)],
}


class Remembers:
    """Its state is what it was given last."""

    kept: Any = None

    def state_dict(self) -> Any:
        return REMEMBERED if self.kept is None else self.kept

    def load_state_dict(self, state: Any) -> None:
        self.kept = state


class OwnEncoder(Remembers, Encoder):
    def build(self, spaces: Spaces, generator: np.random.Generator) -> "OwnEncoder":
        self.key_size = spaces.observation_shape[0]
        return self

    def __call__(self, observations: Array) -> Any:
        return observations.astype(np.float32)


class OwnExploration(Remembers, Exploration):
    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        return 0


class OwnStrategy(Remembers, Strategy):
    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return replace(0)


class OwnTable(Remembers):
    pass


class Own(Agent):
    """An agent that saves an object of its own."""

    saved = ("table",)

    def build(self) -> None:
        self.table = OwnTable()

    def act(self, observation: Array, step: int) -> int:
        return 0

    def observe(self, reward: float, observation: Array, terminated: bool, truncated: bool) -> None:
        pass

    def q_values(self, observations: Array) -> Floats:
        return np.zeros((len(observations), self.spaces.actions), np.float32)


PARTS: dict[str, Any] = {"encoder": OwnEncoder, "exploration": OwnExploration, "strategy": OwnStrategy}


def part_of(agent: Any, name: str) -> Any:
    return agent.memory.strategy if name == "strategy" else getattr(agent, name)


def assert_is_what_was_remembered(found: Any) -> None:
    """Equal, and of the same types."""
    assert found["pair"] == (1, 2.5)
    assert type(found["pair"]) is tuple
    assert found["by number"].keys() == {3, (0, 1)}
    number, nothing = found["by number"][0, 1]
    assert (type(number), nothing) == (np.float32, ())
    array, small = found["arrays"]
    assert array.tolist() == [0, 1, 2]
    assert type(small) is np.int8


@pytest.mark.parametrize("name", PARTS)
def test_what_a_part_remembers_comes_back_type_for_type(name: str, tmp_path: Path) -> None:
    file, kind = tmp_path / "model.safetensors", PARTS[name]
    agent = MFEC("CartPole-v1", capacity=5, **{name: kind()}).learn(60)
    agent.save(file)
    assert part_of(agent, name).kept is None
    loaded = MFEC.load(file, **{name: kind()})
    assert_is_what_was_remembered(part_of(loaded, name).kept)
    again = MFEC("CartPole-v1", capacity=5, **{name: kind()})
    again.load_state_dict(agent.state_dict())
    assert_is_what_was_remembered(part_of(again, name).kept)


def test_what_an_agent_of_ones_own_saves_comes_back_type_for_type(tmp_path: Path) -> None:
    Own("CartPole-v1").learn(20).save(tmp_path / "own.safetensors")
    assert_is_what_was_remembered(Own.load(tmp_path / "own.safetensors").table.kept)


def test_a_strategys_state_goes_through_arrays_for_numpy() -> None:
    memory = EpisodicMemory(actions=2, key_size=3, capacity=4, strategy=OwnStrategy())
    again = EpisodicMemory.from_arrays(memory.to_arrays(), strategy=OwnStrategy())
    assert_is_what_was_remembered(again.strategy.kept)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"seen": {2}}, r"\['seen'\] is \{2\}, a set, which a file cannot hold exactly; use sorted"),
        ({"last": deque([1])}, r"\['last'\] is .*, a deque, which a file cannot hold exactly; use list"),
        ([1], r" must return a dict, got \[1\]"),
    ],
)
def test_what_cannot_come_back_is_refused_when_the_agent_is_made(name: str, state: Any, words: str) -> None:
    part = PARTS[name]()
    part.kept = state
    with pytest.raises(InvalidInputError, match=rf"^state_dict\(\) of {type(part).__name__}{words}"):
        MFEC("CartPole-v1", capacity=5, **{name: part})


def test_what_cannot_come_back_by_then_is_refused_by_save(tmp_path: Path) -> None:
    agent = MFEC("CartPole-v1", capacity=5, exploration=OwnExploration()).learn(20)
    agent.save(tmp_path / "model.safetensors")
    saved = (tmp_path / "model.safetensors").read_bytes()
    agent.exploration.load_state_dict({"bad": b"bytes"})
    with pytest.raises(InvalidInputError, match=r"state_dict\(\) of OwnExploration\['bad'\] is b'bytes', a bytes"):
        agent.save(tmp_path / "model.safetensors")
    assert (tmp_path / "model.safetensors").read_bytes() == saved


class Tallies(Exploration):
    """Counts actions in a dict that is empty at first."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        self.counts[step % 2] = self.counts.get(step % 2, 0) + 1
        return step % 2

    def state_dict(self) -> dict[Any, Any]:
        return self.counts

    def load_state_dict(self, state: dict[Any, Any]) -> None:
        self.counts = state


def test_a_state_that_is_empty_at_first_is_restored_too(tmp_path: Path) -> None:
    agent = MFEC("CartPole-v1", capacity=5, exploration=Tallies())
    agent.predict(np.zeros(4, np.float32), deterministic=False)
    assert agent.exploration.state_dict() == {}, "predictions left a trace"
    agent.learn(21).save(tmp_path / "model.safetensors")
    loaded = MFEC.load(tmp_path / "model.safetensors", exploration=Tallies())
    assert loaded.exploration.counts == {0: 11, 1: 10}  # type: ignore[attr-defined]


def normalised() -> Any:
    """A PyTorch module whose buffers change in training."""
    torch = pytest.importorskip("torch")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.BatchNorm1d(2))


class Normalises(Agent):
    """An agent whose module keeps running statistics of every four observations."""

    saved = ("net", "seen", "count")

    def build(self) -> None:
        self.net, self.seen, self.count = normalised(), np.zeros((4, 4), np.float32), np.zeros((), np.int64)

    def act(self, observation: Array, step: int) -> int:
        return int(self.q_values(observation[None])[0].argmax())

    def observe(self, reward: float, observation: Array, terminated: bool, truncated: bool) -> None:
        self.seen[self.count % 4] = observation
        self.count += 1
        if self.count % 4 == 0:
            self._see()

    def _see(self) -> None:
        import torch  # noqa: PLC0415 (an extra)

        with torch.no_grad():
            self.net.train()(torch.from_numpy(self.seen))

    def q_values(self, observations: Array) -> Floats:
        import torch  # noqa: PLC0415 (an extra)

        with torch.no_grad():
            found: Floats = self.net.eval()(torch.from_numpy(observations)).numpy()
        return found


def test_buffers_of_a_module_of_ones_own_are_restored_with_its_parameters(tmp_path: Path) -> None:
    watched = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    agent = Normalises("CartPole-v1").learn(50)
    untrained = Normalises("CartPole-v1").q_values(watched)
    agent.save(tmp_path / "own.safetensors")
    loaded = Normalises.load(tmp_path / "own.safetensors")
    assert not np.array_equal(agent.q_values(watched), untrained)
    assert np.array_equal(loaded.q_values(watched), agent.q_values(watched))
    assert int(loaded.net[1].num_batches_tracked) == 12
    once = Normalises("CartPole-v1").learn(80)
    assert np.array_equal(loaded.learn(30).q_values(watched), once.q_values(watched)), "resumed otherwise"
