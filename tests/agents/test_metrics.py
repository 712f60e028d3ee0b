"""Metrics: what they say is so, whatever interrupts a run, and nothing is measured where nobody listens."""

import json
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from engram import D3QN, MFEC, NEC, Agent
from engram.agents.common import recall
from engram.agents.common.metrics import STATES, metrics_of_reads, rounded
from engram.agents.common.tally import INTERVAL_STEPS, Tally
from engram.errors import InvalidInputError
from engram.memory.strategies import Strategy, discard
from engram.runs.cadence import Cadence
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from engram.training.evaluation import examine
from engram.training.events import EpisodeEnd, Evaluation, Event
from engram.training.visits import MOST, Visits
from tests.faults.tally import Stopped, stop_at

ROOM = "engram/OpenRoom-v0"
LEARNING: dict[str, Any] = {"learning_start_steps": 60, "batch_size": 8, "seed": 1}


def episodes(agent: Any, steps: int) -> list[EpisodeEnd]:
    found: list[Event] = []
    agent.learn(steps, found.append)
    return [event for event in found if isinstance(event, EpisodeEnd)]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (MFEC, {"strategy": "lru", "capacity": 60}),
        (MFEC, {"strategy": "dkm", "capacity": 20, "kernel": "mean"}),
        (NEC, {"strategy": "lru", "capacity": 60, **LEARNING}),
    ],
)
def test_reads_are_measured_as_the_memory_reads(
    kind: Any, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, Any, dict[str, float]]] = []
    measure = metrics_of_reads

    def spy(memory: Any, episode: Any) -> dict[str, float]:
        found = measure(memory, episode)
        seen.append((deepcopy(memory), episode, found))
        return found

    monkeypatch.setattr(recall, "metrics_of_reads", spy)
    kind(ROOM, **{"seed": 1, **settings}).learn(2_000, lambda event: None)
    assert len(seen) > 8
    for memory, episode, found in seen:
        rows = range(0, len(episode.actions), -(-len(episode.actions) // STATES))
        assert len(rows) <= STATES
        exact: list[float] = []
        near: list[float] = []
        distances: list[float] = []
        for t in rows:
            stored = memory.entries(episode.actions[t])["keys"]
            if not len(stored):
                continue
            distances.append(np.sqrt(((stored - episode.keys[t]) ** 2).sum(1).min()))
            bias = float(memory.read(episode.keys[t : t + 1])[0, episode.actions[t]] - episode.returns[t])
            (exact if distances[-1] == 0 else near).append(bias)
        assert found["reads/exact"] == pytest.approx(len(exact) / len(rows))
        expected = {"reads/distance": distances, "values/bias_exact": exact, "values/bias_near": near}
        for name, numbers in expected.items():
            assert (name in found) == bool(numbers)
            assert found.get(name, 0) == pytest.approx(np.mean(numbers) if numbers else 0, rel=1e-4, abs=1e-5), name
    assert any("values/bias_exact" in found for *_, found in seen)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("lru", {"new", "updated", "replaced"}),
        ("kmeans", {"new", "updated", "merged"}),
        ("dkm", {"new", "updated", "merged", "replaced"}),
    ],
)
@pytest.mark.parametrize("merging", ["single", pytest.param("episode", marks=pytest.mark.slow)])
def test_writes_are_told_by_how_they_ended(strategy: str, merging: Any, expected: set[str]) -> None:
    merging = "single" if strategy == "lru" else merging
    agent = MFEC(ROOM, strategy=strategy, merging=merging, capacity=40, neighbours=3, seed=0)
    found = [event.metrics for event in episodes(agent, 3_000) if event.metrics]
    names = ("new", "updated", "merged", "replaced")
    assert {name for name in names if any(metrics[f"writes/{name}"] > 0 for metrics in found)} == expected
    assert all(sum(metrics[f"writes/{name}"] for name in names) == pytest.approx(1, abs=1e-5) for metrics in found)
    assert agent.memory.written[:, 0].tolist() == agent.memory.size.tolist() == [40] * 4
    assert agent.memory.written.sum() == agent.steps - len(agent.unfinished)
    assert found[-1]["memory/fill"] == 1 > found[0]["memory/fill"]


def test_at_most_one_episode_in_two_hundred_steps_is_measured() -> None:
    measured = [event for event in episodes(MFEC("CartPole-v1", capacity=20, seed=0), 2_000) if event.metrics]
    assert len(measured) > 8
    assert all(one.step // INTERVAL_STEPS < two.step // INTERVAL_STEPS for one, two in pairwise(measured))


@pytest.mark.parametrize(
    ("kind", "settings"), [(MFEC, {"capacity": 50}), (NEC, {"capacity": 50, **LEARNING}), (D3QN, LEARNING)]
)
def test_the_start_is_valued_as_it_was_when_it_was_seen(
    kind: Any, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, starts = kind("CartPole-v1", **settings), []
    act = agent.act

    def spy(observation: Any, step: int) -> int:
        if agent.loop.length == 0:
            starts.append(float(agent.q_values(observation[None]).max()))
        return int(act(observation, step))

    monkeypatch.setattr(agent, "act", spy)
    found = episodes(agent, 1_800)
    told = [
        (event.metrics["values/start"], start) for event, start in zip(found, starts, strict=False) if event.metrics
    ]
    assert len({value for value, _ in told}) > 5
    for value, start in told:
        assert value == pytest.approx(start, rel=1e-5, abs=1e-6)


def test_what_a_network_learns_is_told_and_eps_falls() -> None:
    for kind in (NEC, D3QN):
        agent = kind("CartPole-v1", epsilon_anneal_start_steps=0, epsilon_anneal_end_steps=800, **LEARNING)
        found = [event.metrics for event in episodes(agent, 1_000) if event.metrics]
        assert "learn/loss" not in found[0] or found[0]["learn/loss"] > 0
        assert all(metrics["learn/loss"] > 0 and metrics["learn/gradient"] > 0 for metrics in found[2:])
        epsilons = [metrics["explore/epsilon"] for metrics in found]
        assert epsilons == sorted(epsilons, reverse=True)
        assert epsilons[0] > 0.6
        assert epsilons[-1] == pytest.approx(5e-3)


def test_nothing_is_measured_where_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "metrics_of_reads", lambda *_: pytest.fail("someone measures"))
    agent = NEC("CartPole-v1", capacity=20, **LEARNING).learn(300)
    assert "tally" not in agent.state_dict()
    heard = NEC("CartPole-v1", capacity=20, **LEARNING).learn(50, lambda event: None)
    heard.learn(250)
    assert "tally" not in heard.state_dict()


def test_listening_changes_nothing_that_is_learned() -> None:
    for kind in (MFEC, NEC, D3QN):
        settings: dict[str, Any] = {"seed": 1} if kind is MFEC else LEARNING
        alone, watched = kind("CartPole-v1", **settings).learn(500), kind("CartPole-v1", **settings)
        watched.learn(500, lambda event: None)
        one, two = alone.state_dict(), watched.state_dict()
        assert two.pop("tally", {}).keys() <= {"learning_steps", "loss", "gradient", "start"}
        assert_equal(one, two)


def assert_equal(one: Any, two: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == two.keys()
        for name in one:
            assert_equal(one[name], two[name])
    elif isinstance(one, tuple):
        for each, other in zip(one, two, strict=True):
            assert_equal(each, other)
    else:
        np.testing.assert_array_equal(one, two)


RUNS = [
    Run(MFEC, ROOM, MFEC.Config(capacity=20, strategy="dkm", seed=3), 700, 250, 2),
    Run(NEC, "CartPole-v1", NEC.Config(capacity=20, **LEARNING), 650, 200, 2),
    Run(D3QN, "CartPole-v1", D3QN.Config(**LEARNING), 650, 200, 2),
]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.agent.name)
def test_an_interrupted_run_has_the_same_metrics(run: Run, tmp_path: Path) -> None:
    RunFolder(tmp_path / "whole").record(run, run.make_agent())
    often = Cadence(steps=15)
    for at in (95, 230, 301):
        with pytest.raises(Stopped):
            RunFolder(tmp_path / "parts").record(run, run.make_agent(), stop_at(at), cadence=often)
    RunFolder(tmp_path / "parts").record(run, run.make_agent(), tell=lambda _: None)
    for name in ("progress.jsonl", "model.safetensors", "result.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes(), name
    lines = [json.loads(line) for line in (tmp_path / "whole" / "progress.jsonl").read_text().splitlines()]
    assert sum("metrics" in line for line in lines) >= 4
    assert all("metrics" in line for line in lines if line["event"] == "evaluation")


def test_an_evaluation_tells_the_value_of_its_starts_and_what_the_memory_holds() -> None:
    run = Run(MFEC, ROOM, MFEC.Config(capacity=30, strategy="lru", discount=0.9, seed=1), 600, 600, 2)
    agent: Any = run.make_agent()
    evaluation = next(event for event in run.events(agent) if isinstance(event, Evaluation))
    start = agent.source.make().reset(seed=0)[0][None]
    value = float(agent.q_values(start).max())
    length, total = evaluation.lengths[0], evaluation.returns[0]
    metrics = evaluation.metrics
    assert metrics["start/value"] == pytest.approx(value, rel=1e-5)
    assert metrics["start/bias"] == pytest.approx(value - total * 0.9 ** (length - 1), rel=1e-4, abs=1e-6)
    assert metrics["start/distance"] == pytest.approx(np.sqrt(agent.distances(start).min()), abs=1e-6)
    entries = [agent.memory.entries(action) for action in range(4)]
    assert [metrics[f"fill/{action}"] for action in range(4)] == (agent.memory.size / 30).tolist()
    assert metrics["entries/value"] == pytest.approx(np.concatenate([each["values"] for each in entries]).mean())
    ages = agent.memory.clock - np.concatenate([each["last_used"] for each in entries])
    assert metrics["entries/age"] == pytest.approx(ages.mean(), rel=1e-5)
    clusters = MFEC(ROOM, strategy="kmeans", capacity=10, seed=1).learn(800)
    counts = np.concatenate([clusters.memory.entries(action)["n"] for action in range(4)])
    told = clusters.measure(start, np.zeros(1))
    assert told["entries/n"] == pytest.approx(counts.mean(), rel=1e-5)
    assert told["entries/n_largest"] == counts.max()


class Never(gymnasium.Env[Any, Any]):
    """A corridor of five cells with −1 a step, in which the third action is never possible."""

    observation_space = gymnasium.spaces.Box(0, 5, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def _seen(self) -> tuple[Any, dict[str, Any]]:
        return np.array([self.place], np.float32), {"action_mask": np.array([1, 1, 0], np.int8)}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.place = 0
        return self._seen()

    def step(self, action: Any) -> Any:
        assert action != 2
        self.place = max(self.place + (1 if action == 1 else -1), 0)
        seen, info = self._seen()
        return seen, -1.0, self.place == 5, False, info


@pytest.mark.parametrize("kind", [MFEC, NEC, D3QN])
def test_values_of_starts_are_those_of_possible_actions(kind: type[Agent]) -> None:
    settings: dict[str, Any] = {} if kind is D3QN else {"capacity": 50}
    agent: Any = kind(Never, seed=1, **settings)
    told: list[Any] = []
    agent.learn(1500, told.append)
    start = np.zeros((1, 1), np.float32)
    q, masks = agent.q_values(start)[0], np.array([[True, True, False]])
    assert agent.measure(start, np.zeros(1), masks)["start/value"] == pytest.approx(q[:2].max(), rel=1e-5)
    measured = [event for event in told if isinstance(event, EpisodeEnd) and "values/start" in event.metrics]
    assert measured
    if kind is not D3QN:  # what is never taken is worth 0 to a memory
        assert q[:2].max() < 0
        assert measured[-1].metrics["values/start"] < 0
    env = Never()
    evaluation = examine(agent, [env], agent.steps, 2, max_steps=20)
    assert evaluation.metrics["start/value"] == pytest.approx(q[:2].max(), rel=1e-5)


def test_the_value_of_a_start_before_keys_settle_is_0() -> None:
    before = episodes(MFEC("CartPole-v1", capacity=30, seed=4), 400)  # with random actions, as below
    due = next(each for each in before if each.step // INTERVAL_STEPS > (each.step - each.length) // INTERVAL_STEPS)
    agent = MFEC("CartPole-v1", encoder=f"scaled:steps={due.step - 2}", capacity=30, seed=4)
    (settling,) = [each for each in episodes(agent, 400) if each.step == due.step]
    assert settling.metrics["values/start"] == 0


def test_numbers_are_rounded_and_finite() -> None:
    assert rounded({"a": 1 / 3, "b": np.inf, "c": 123456789.0, "d": np.nan}) == {"a": 0.333333, "c": 123457000.0}


@pytest.mark.parametrize("wrong", [{"loss": np.nan}, {"learning_steps": -1}, {"other": 1}, {"start": "x"}])
def test_a_tally_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="what was measured of an episode is not valid"):
        Tally().load_state_dict(wrong, 2)


class Picky(Strategy):
    """Keeps what it has."""

    def when_full(self, write: Any, numbers: Any) -> Any:
        return discard()


def test_a_strategy_of_ones_own_is_told_of_in_the_same_way() -> None:
    found = [event.metrics for event in episodes(MFEC(ROOM, strategy=Picky(), capacity=10, seed=0), 1_000)]
    assert [metrics["writes/discarded"] > 0 for metrics in found if metrics][-1]
    assert not any(metrics.get("writes/replaced") or metrics.get("writes/merged") for metrics in found)


def test_an_encoder_that_has_not_settled_has_nothing_to_measure_yet() -> None:
    found = [event.metrics for event in episodes(MFEC("CartPole-v1", encoder="scaled", capacity=50, seed=0), 3_000)]
    measured = [metrics for metrics in found if metrics]
    assert "reads/exact" not in measured[0]
    assert "explore/epsilon" in measured[0]
    assert "reads/distance" in measured[-1]


@pytest.mark.parametrize("kind", [MFEC, NEC])
def test_an_evaluation_tells_how_much_of_its_play_is_known(kind: Any) -> None:
    agent = kind(ROOM, capacity=100, seed=1)
    agent.learn(2_000)
    seen: list[tuple[Any, int]] = []

    class Watched(gymnasium.Wrapper[Any, Any, Any, Any]):
        def reset(self, **options: Any) -> Any:
            self.seen, info = super().reset(**options)
            return self.seen, info

        def step(self, action: Any) -> Any:
            seen.append((self.seen, int(action)))
            found = super().step(action)
            self.seen = found[0]
            return found

    metrics = examine(agent, [Watched(gymnasium.make(ROOM))], 2_000, 3, max_steps=20).metrics
    assert 0 < len(seen) <= MOST
    apart = np.array([agent.distances(np.array(state)[None])[0, action] for state, action in seen], np.float64)
    assert metrics["play/exact"] == pytest.approx((apart == 0).mean(), abs=1e-5)
    assert metrics["play/distance"] == pytest.approx(np.sqrt(apart).mean(), rel=1e-4)
    assert "play/exact" not in examine(D3QN(ROOM, seed=1), [gymnasium.make(ROOM)], 0, 1, max_steps=20).metrics


@pytest.mark.parametrize("steps", [1, MOST, MOST + 1, 7 * MOST + 3])
@pytest.mark.parametrize("together", [1, 3, 10, 400])
def test_visits_are_kept_evenly_apart(steps: int, together: int) -> None:
    visits = Visits()
    for part in np.array_split(np.arange(steps), -(-steps // together)):
        visits.add(part[:, None], part % 3)
    kept = visits.observations[:, 0]
    assert min(steps, MOST // 2) <= len(kept) <= MOST
    assert kept[0] == 0
    assert len({b - a for a, b in pairwise(kept.tolist())}) <= 1
    assert steps - kept[-1] <= max(1, 2 * steps // len(kept))
    assert visits.actions.tolist() == (kept % 3).tolist()
