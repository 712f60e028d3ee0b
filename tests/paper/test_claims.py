"""The claims: worlds in which each holds, does not, and cannot be decided; and what no claim may ever do."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from engram.lab.cell import Cell
from engram.lab.evidence import Evidence
from engram.lab.verdicts import FAILS, FEW, HOLDS, OPEN, Claim, Word
from engram.paper.claims import CLAIMS as EVERY
from engram.paper.registry import STUDIES
from tests.lab.pages.synthetic import Curve, Number, at_the_end, declare, declared, line, results, spread_out

CLAIMS = tuple(replace(claim, power=()) for claim in EVERY.claims)  # what is open stays so, whatever the seeds
BY_NUMBER = {claim.number: claim for claim in CLAIMS}
CLASSIC, ALL_FOUR = ("cartpole", "acrobot"), ("cartpole", "acrobot", "openroom", "fourroom")
PONG = "engram/Pong-v0"


@dataclass(frozen=True)
class World:
    """What all runs of some studies came to."""

    number: int  # of the claim that is put to it
    name: str
    studies: Sequence[str]
    mean: Number
    spread: Number = 1.0  # of the seeds
    curve: Curve = at_the_end
    filled: Callable[[Cell], bool] = lambda cell: True

    @property
    def claim(self) -> Claim:
        return BY_NUMBER[self.number]

    def evidence(self, without: Callable[[dict[str, Any]], bool] = lambda place: False) -> Evidence:
        score = spread_out(self.mean, self.spread)
        found = (results(study, score, filled=self.filled, curve=self.curve, without=without) for study in self.studies)
        return Evidence(list(found))

    def but(self, name: str, **changes: Any) -> "World":
        return replace(self, name=name, **changes)


def favour(strategy: str, high: float, low: float) -> Callable[[Cell], float]:
    return lambda cell: high if cell.strategy == strategy else low


def where(condition: Callable[[Cell], bool], value: float, otherwise: Number) -> Callable[[Cell], float]:
    def mean(cell: Cell) -> float:
        return value if condition(cell) else otherwise(cell) if callable(otherwise) else otherwise

    return mean


def is_cell(agent: str, strategy: str, *sizes: int, env: str = "") -> Callable[[Cell], bool]:
    return lambda cell: cell[1:3] == (agent, strategy) and cell.capacity in sizes and env in cell.env


def size_of(cell: Cell) -> int:
    return cell.capacity or 1


def doublings(cell: Cell) -> float:
    return float(np.log2(size_of(cell)))


def as_printed(cell: Cell) -> float:
    """On Acrobot DkM is best but for MFEC with much memory, where LRU is."""
    large = cell.agent == "mfec" and size_of(cell) >= 5_000
    return {"dkm": -200.0, "lru": -100.0 if large else -400.0}.get(cell.strategy or "", -400.0)


def rises(*strategies: str, agent: str = "") -> Callable[[Cell], float]:
    """LRU with both agents, and these strategies with the agent."""
    return lambda cell: (
        20 * doublings(cell)
        if cell.strategy == "lru" or (cell.strategy in strategies and cell.agent == agent)
        else 100.0
    )


def clusters_rise(cell: Cell) -> float:
    return 20 * doublings(cell)


def saves(cell: Cell) -> float:
    """DkM has with the smallest memory more than LRU has with the largest."""
    return 13.5 if cell.strategy == "dkm" else doublings(cell)


def ten_times(cell: Cell) -> float:
    return doublings(cell) + (float(np.log2(10)) if cell.strategy == "dkm" else 0.0)


def poor(cell: Cell) -> float:
    return 0.0 if cell.strategy in ("rew", "sur") else 1.0


def openroom(cell: Cell) -> float:
    tiny = size_of(cell) < 10
    return {"kmeans": 0.9 if tiny else 0.3, "dkm": 0.1 if tiny else 0.9}.get(cell.strategy or "", 0.05)


def well_from(cell: Cell) -> float:
    first = {"dkm": 10, "lru": 50}.get(cell.strategy or "", 1_000)
    return 0.9 if size_of(cell) >= first else 0.1


def steadily(cell: Cell, seed: int, score: float, *, mfec: float = 100.0, nec: float = 200.0) -> Any:
    """From 100: MFEC reaches its last return at the end of its training, and NEC as well."""
    last = 15_000 if cell.agent == "mfec" else 20_000
    steps = tuple(range(500, last + 500, 500))
    return steps, line(100.0, mfec if cell.agent == "mfec" else nec, steps=steps)


def unclear_at_the_end(cell: Cell, seed: int, score: float) -> Any:
    return steadily(cell, seed, score, nec=100 + score)  # the score is that of the seed


def soon(cell: Cell, seed: int, score: float) -> Any:
    """Episodic agents have their score from the start, D3QN has more, but after NEC with much memory has ended."""
    millions = range(1, 4 if cell[1:] == ("nec", cell.strategy, 100_000) else 6)
    returns = [score if cell.agent != "d3qn" else 3 * score if million > 3 else -score for million in millions]
    return [1_000_000 * million for million in millions], returns


DKM = World(1, "DkM best", ("cartpole",), favour("dkm", 300, 100), 10)
ACROBOT = World(4, "as the paper has it", ("acrobot",), as_printed, 5)
RISES = World(5, "LRU alone rises", CLASSIC, rises(), 5)
LEAST = World(6, "DkM has at 50 what LRU has at 10,000", CLASSIC, saves, 0.05)
POOR = World(7, "REW and SUR at 0", ALL_FOUR, poor, 0.1)
ROOM = World(8, "kM at the tiny sizes, DkM above", ("openroom",), openroom, 0.02)
WELL = World(9, "from 10 and from 50", ("openroom",), well_from, 0.05)
SOLVED = World(10, "LRU alone", ("fourroom",), favour("lru", 1.0, 0.9), 0)
GAMES = World(11, "DkM above", ("atari",), favour("dkm", 200, 100), 5)
MORE = World(16, "twice as much", ("atari",), lambda cell: 0.01 * size_of(cell), lambda cell: 0.0002 * size_of(cell))
SOON = World(13, "at once", ("atari",), where(lambda cell: cell.agent == "nec", 10, 100), 1, soon)
CONVERGED = World(15, "MFEC flat, NEC rises", ("cartpole",), 100.0, 10, steadily)
CALM = World(
    *(18, "DkM is higher and varies least", ("acrobot",), favour("dkm", -150, -200)),
    lambda cell: 2.0 if cell.strategy == "dkm" else 60.0,
)

HOLDING = [
    DKM,
    DKM.but(
        "DkM worst at 1,000, which never filled",
        mean=where(is_cell("nec", "dkm", 1_000), 50, DKM.mean),
        filled=lambda cell: cell.capacity != 1_000,
    ),
    DKM.but("DkM best", number=2),
    DKM.but("DkM best", number=3),
    DKM.but("for MFEC DkM is worst elsewhere", number=3, mean=where(is_cell("mfec", "dkm", 50, 500), 50, DKM.mean)),
    ACROBOT,
    ACROBOT.but("DkM best everywhere", mean=favour("dkm", -100, -400)),
    RISES,
    RISES.but("clustering falls", mean=lambda cell: doublings(cell) * (20 if cell.strategy == "lru" else -5)),
    LEAST,
    LEAST.but("for NEC alone", mean=where(lambda cell: cell.agent == "mfec", 5.0, LEAST.mean)),
    POOR,
    ROOM,
    WELL,
    SOLVED,
    SOLVED.but("with NEC at 200 alone", mean=where(is_cell("nec", "lru", 200), 1.0, 0.9)),
    SOLVED.but(
        "by all where no table filled",
        mean=where(lambda cell: cell.agent == "nec", 1.0, SOLVED.mean),
        filled=lambda cell: cell.agent == "mfec",
    ),
    GAMES,
    GAMES.but("LRU above", number=12, mean=favour("lru", 200, 100)),
    SOON,
    CONVERGED,
    MORE,
    CALM,
]
FAILING = [
    DKM.but("kM above at 500", mean=where(is_cell("nec", "kmeans", 500), 500, DKM.mean)),
    DKM.but("REW above in the mean", mean=where(lambda cell: cell.strategy == "rew", 330, DKM.mean)),
    DKM.but("DkM below", number=2, mean=100.0),
    DKM.but("LRU above too", number=2, mean=where(is_cell("nec", "lru", 50), 300, DKM.mean)),
    DKM.but("SUR above at 150", number=3, mean=where(is_cell("mfec", "sur", 150), 400, DKM.mean)),
    ACROBOT.but("kM above at 150", mean=where(is_cell("nec", "kmeans", 150), -50, ACROBOT.mean)),
    ACROBOT.but(
        "8 settings of 12",
        mean=where(lambda cell: size_of(cell) >= 5_000 and cell.strategy == "lru", -50, ACROBOT.mean),
    ),
    RISES.but("clustering alone rises", mean=where(lambda cell: cell.strategy == "lru", 100.0, clusters_rise)),
    RISES.but("LRU falls", mean=lambda cell: -rises()(cell)),
    LEAST.but("DkM as LRU", mean=doublings),
    LEAST.but("DkM as LRU on Acrobot", mean=lambda cell: doublings(cell) if "Acro" in cell.env else saves(cell)),
    POOR.but("SUR best with MFEC in OpenRoom", mean=where(is_cell("mfec", "sur", *range(999), env="Open"), 2.0, poor)),
    ROOM.but("DkM above kM at 5", mean=where(is_cell("nec", "dkm", 5), 1.5, openroom)),
    ROOM.but("LRU above DkM overall", mean=where(lambda c: c.strategy == "lru" and size_of(c) >= 10, 0.95, openroom)),
    WELL.but("LRU from 25", mean=where(is_cell("mfec", "lru", 25), 0.9, well_from)),
    WELL.but("DkM not at 10", mean=where(is_cell("nec", "dkm", 10), 0.2, well_from)),
    SOLVED.but("kM too", mean=where(is_cell("mfec", "kmeans", 200), 1.0, SOLVED.mean)),
    SOLVED.but("nobody", mean=0.9),
    SOLVED.but("everybody", mean=1.0),
    GAMES.but("LRU above in Pong", mean=where(is_cell("nec", "lru", 10_000, env=PONG), 300, GAMES.mean)),
    GAMES.but("DkM above", number=12),
    SOON.but("D3QN at once too, and more", curve=at_the_end, mean=where(lambda c: c.agent == "d3qn", 200, 100)),
    CONVERGED.but("MFEC goes on rising", curve=partial(steadily, mfec=300.0)),
    CONVERGED.but("MFEC collapses", curve=partial(steadily, mfec=50.0)),
    CONVERGED.but("NEC has converged too", curve=partial(steadily, nec=100.0)),
    CONVERGED.but("NEC falls", curve=partial(steadily, nec=50.0)),
    MORE.but("less with NEC", mean=lambda cell: 1e6 / size_of(cell) if cell.agent == "nec" else size_of(cell)),
    CALM.but("DkM varies most", spread=lambda cell: 60.0 if cell.strategy == "dkm" else 2.0),
    CALM.but("DkM is calm and low", mean=favour("dkm", -400, -200)),
]
NEVER = {"filled": lambda cell: False, "mean": 1.0, "spread": 0.0}  # so that all strategies are the same
UNDECIDED = [
    DKM.but("noise", mean=favour("dkm", 200, 199), spread=50),
    DKM.but("never filled", **NEVER),
    DKM.but("no difference at all", mean=200.0, spread=0),
    DKM.but("noise", number=2, mean=favour("dkm", 210, 190), spread=50),
    DKM.but("noise", number=3, mean=favour("dkm", 200, 199), spread=50),
    DKM.but("never filled", number=3, **NEVER),
    ACROBOT.but("noise", mean=favour("dkm", -300, -301), spread=50),
    ACROBOT.but("never filled", **NEVER),
    RISES.but("all flat", mean=100.0, spread=20),
    RISES.but("never filled", **NEVER),
    LEAST.but("ten times, or somewhat less", mean=ten_times, spread=1.0),
    LEAST.but("never filled", **NEVER),
    POOR.but("noise", mean=1.0, spread=0.5),
    POOR.but("never filled", **NEVER),
    ROOM.but("noise", mean=0.5, spread=0.2),
    ROOM.but("never filled", **NEVER),
    WELL.but("about one half", mean=0.5, spread=0.1),
    WELL.but("never filled", **NEVER),
    SOLVED.but("never filled", **NEVER),
    GAMES.but("noise", mean=100.0, spread=50),
    GAMES.but("noise", number=12, mean=100.0, spread=50),
    SOON.but("noise", curve=at_the_end, mean=100.0, spread=50),
    CONVERGED.but("noise in NEC", mean=17.0, curve=unclear_at_the_end),
    CONVERGED.but("never filled", filled=lambda cell: False),
    MORE.but("noise", mean=100.0, spread=50),
    CALM.but("as calm as the others", spread=20.0),
    CALM.but("no higher than the others", mean=-200.0),
    CALM.but("nobody reaches the goal", mean=-500.0, spread=0),
    CALM.but("never filled", **NEVER),
]
OF_RUNS = {world.number: world for world in reversed(HOLDING)}  # for each claim about runs a world in which it holds


CASES = [
    pytest.param(world, word, id=f"{world.number}-{word}-{world.name}")
    for word, worlds in ((HOLDS, HOLDING), (FAILS, FAILING), (OPEN, UNDECIDED))
    for world in worlds
]


@pytest.mark.parametrize(("world", "word"), CASES)
def test_verdicts(world: World, word: Word) -> None:
    assert world.claim.decide(world.evidence()).word == word


def test_every_claim_has_its_worlds() -> None:
    of_stream = {14, 17}
    for worlds in (HOLDING, FAILING, UNDECIDED):
        assert {world.number for world in worlds} == set(range(1, 19)) - of_stream


def test_claims_are_numbered_as_in_the_list_and_name_their_studies() -> None:
    assert [claim.number for claim in CLAIMS] == list(range(1, 19))
    for claim in CLAIMS:
        assert claim.studies
        assert set(claim.studies) <= set(STUDIES)
        assert claim.text.endswith(".")
        assert claim.rule.endswith(".")
        assert "(" in claim.quote  # where it stands
        assert claim.least_seeds >= 3


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: str(claim.number))
def test_without_any_runs_nothing_is_decided(claim: Claim) -> None:
    assert claim.decide(Evidence()).word == FEW
    nothing = [results(name, spread_out(1.0), without=lambda place: True) for name in ("cartpole", "atari")]
    assert claim.decide(Evidence(nothing)).word == FEW


@pytest.mark.parametrize("world", [*HOLDING, *FAILING], ids=lambda world: f"{world.number}-{world.name}")
def test_with_two_seeds_nothing_is_decided(world: World) -> None:
    score, studies = spread_out(world.mean, world.spread), []
    for study in world.studies:
        places = {run_id: place for run_id, place in declared(study).items() if place["seed"] < 2}
        studies.append(results(study, score, filled=world.filled, curve=world.curve, places=places))
    verdict = world.claim.decide(Evidence(studies))
    assert verdict.word == FEW
    assert verdict.headline.startswith("Too few runs: ")


@pytest.mark.parametrize("number", OF_RUNS)
def test_runs_that_were_cut_short_are_no_obstacle(number: int) -> None:
    world = replace(OF_RUNS[number], curve=at_the_end)
    word = world.claim.decide(world.evidence()).word
    assert word == FEW if number == 15 else word in (HOLDS, FAILS)


@pytest.mark.parametrize("number", OF_RUNS)
def test_a_verdict_is_the_same_twice_and_changes_nothing(number: int) -> None:
    world = OF_RUNS[number]
    evidence = world.evidence()
    before = [(study.evaluations.clone(), deepcopy(study.declared)) for study in evidence.studies]
    first, second = (world.claim.decide(evidence) for _ in range(2))
    assert first == second == world.claim.decide(world.evidence())
    assert first.why
    assert first.headline
    assert first.decisive in first.statements
    for study, (frame, places) in zip(evidence.studies, before, strict=True):
        assert study.evaluations.equals(frame)
        assert study.declared == places


MATTERS: dict[int, Callable[[Cell], bool]] = {  # cells without which a claim cannot be said to hold
    1: lambda cell: cell.agent == "nec" and size_of(cell) <= 1_000,
    2: lambda cell: cell.agent == "nec" and cell.capacity == 50,
    3: lambda cell: cell.agent == "mfec" and cell.capacity in (100, 150),
    4: lambda cell: cell.agent == "nec" or size_of(cell) < 5_000,
    5: lambda cell: cell.strategy in ("lru", "kmeans", "dkm"),
    6: lambda cell: (
        (cell.strategy, cell.capacity in (500, 5_000, 10_000)) == ("lru", True)
        or (cell.strategy == "dkm" and size_of(cell) <= 1_000)
    ),
    7: lambda cell: True,
    8: lambda cell: True,
    9: lambda cell: cell.strategy in ("lru", "dkm") and cell.capacity in (10, 25, 50),
    10: lambda cell: cell.capacity == 200,
    11: lambda cell: cell.capacity == 10_000 and ("Bowl" in cell.env or "Pac" in cell.env or "Pong" in cell.env),
    12: lambda cell: cell.capacity == 100_000 and ("Invaders" in cell.env or "Qbert" in cell.env),
    13: lambda cell: True,
    15: lambda cell: True,
    16: lambda cell: True,
    18: lambda cell: cell.agent == "nec" and cell.strategy in ("lru", "kmeans", "dkm"),
}
PARTS: dict[str, Callable[[Cell, int], Any]] = {  # what is missing, for both agents: claim 6 needs but one of them
    "a run": lambda cell, seed: (cell.env, cell.strategy, cell.capacity, seed),
    "a cell": lambda cell, seed: (cell.env, cell.strategy, cell.capacity),
    "a size": lambda cell, seed: (cell.env, cell.capacity),
    "a strategy": lambda cell, seed: (cell.env, cell.strategy),
    "an environment": lambda cell, seed: cell.env,
}


def lacking(world: World, part: str, draw: np.random.Generator) -> Callable[[dict[str, Any]], bool]:
    """A part of the runs on which the claim rests."""
    key = PARTS[part]
    episodic = [place for study in world.studies for place in declared(study).values() if place["capacity"]]
    places = [(Cell.of(place), place["seed"]) for place in episodic if MATTERS[world.number](Cell.of(place))]
    gone = key(*places[draw.integers(len(places))])

    return lambda place: bool(key(Cell.of(place), place["seed"]) == gone)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("number", OF_RUNS)
def test_with_missing_runs_no_claim_holds(number: int, part: str) -> None:
    world, draw = OF_RUNS[number], np.random.default_rng(number)
    for _ in range(3):
        assert world.claim.decide(world.evidence(lacking(world, part, draw))).word != HOLDS


@pytest.mark.parametrize("number", [number for number, world in OF_RUNS.items() if len(world.studies) > 1])
def test_without_one_of_its_studies_no_claim_holds(number: int) -> None:
    world = OF_RUNS[number]
    for study in world.studies:
        others = world.but("a study less", studies=[name for name in world.studies if name != study])
        assert world.claim.decide(others.evidence()).word != HOLDS


@pytest.mark.parametrize("world", [*FAILING, *UNDECIDED], ids=lambda world: f"{world.number}-{world.name}")
def test_what_does_not_hold_does_not_come_to_hold_by_losing_runs(world: World) -> None:
    evidence, draw = world.evidence(), np.random.default_rng(0)
    for lost in (0.7, 0.1, 0.01):
        gone = {run_id: draw.random() < lost for study in world.studies for run_id in declared(study)}
        studies = [
            replace(study, evaluations=study.evaluations.filter(~pl.col("run").replace_strict(gone)))
            for study in evidence.studies
        ]
        assert world.claim.decide(Evidence(studies)).word != HOLDS


OPEN_STUDY = ("cartpole", "acrobot", "openroom")  # those of which "open" has variants


def with_variants(world: World, *, plain: bool, variants: bool) -> Evidence:
    """The world, and besides it the study of variants, of which there is one part, or both; variants score 1,000."""
    score = spread_out(world.mean, world.spread)
    usual = results(
        *("open", score),
        filled=world.filled,
        curve=world.curve,
        without=lambda place: not plain or place["variant"] != "",
    )
    others = results("open", spread_out(1_000.0), without=lambda place: not variants or place["variant"] == "")
    both = replace(usual, evaluations=pl.concat([usual.evaluations, others.evaluations]))
    return Evidence([*world.evidence().studies, both])


@pytest.mark.parametrize("number", [n for n, world in OF_RUNS.items() if set(world.studies) & set(OPEN_STUDY)])
def test_variants_have_no_say(number: int) -> None:
    world = OF_RUNS[number]
    alone = world.claim.decide(world.evidence())
    assert world.claim.decide(with_variants(world, plain=True, variants=True)) == alone
    assert world.claim.decide(with_variants(world, plain=True, variants=False)) == alone  # nor those that are missing
    assert world.claim.decide(with_variants(world, plain=False, variants=False)) == alone  # the world has these runs


@pytest.mark.parametrize("number", OF_RUNS)
def test_strategies_that_the_paper_does_not_have_have_no_say(number: int, tmp_path: Path) -> None:
    world = OF_RUNS[number]
    chosen = STUDIES[world.studies[0]].only(strategies=("fading",), agents=("mfec", "nec"), seeds=(10, 11, 12))
    others = results(chosen, spread_out(-7.0, 3.0), curve=world.curve, places=declare(chosen, tmp_path))
    evidence = world.evidence()
    assert world.claim.decide(Evidence([*evidence.studies, others])) == world.claim.decide(evidence)


def test_chance_alone_refutes_a_claim_of_the_best_in_one_world_of_twenty_at_most() -> None:
    draw = np.random.default_rng(0)
    needed = (Cell("CartPole-v1", "nec", None, size) for size in (50, 100, 150, 500, 1_000))
    cells = {*needed, *(Cell("CartPole-v1", "mfec", None, size) for size in (100, 150))}
    places = {
        run_id: place
        for run_id, place in declared("cartpole").items()
        if Cell.of(place)._replace(strategy=None) in cells
    }
    words = []
    for _ in range(200):
        evidence = Evidence([results("cartpole", lambda cell, seed: float(draw.normal(200, 40)), places=places)])
        words.append([BY_NUMBER[number].decide(evidence).word for number in (1, 3)])
    for one in zip(*words, strict=True):
        assert one.count(FAILS) <= 10 + 3 * 3.1  # 5 % of 200, and three standard deviations
        assert one.count(HOLDS) <= 2
        assert one.count(OPEN) >= 150
