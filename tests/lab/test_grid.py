"""Studies as data: their runs, and how a part of them is chosen."""

from dataclasses import dataclass, replace

import pytest

from engram.agents.mfec import MFEC, MFECConfig
from engram.errors import InvalidInputError
from engram.lab.grid import Grid, Study, parse_seeds

STUDY = Study(
    "small",
    "A small study",
    (
        Grid("mfec", "CartPole-v1", 1_000, range(3), ("lru", "dkm"), (20, 50), {"neighbours": 5}),
        Grid("d3qn", "CartPole-v1", 2_000, range(3)),
        Grid("mfec", "engram/OpenRoom-v0", 1_000, range(3), ("lru", "dkm"), (20, 50)),
        Grid("mfec", "CartPole-v1", 1_000, range(3), ("lru",), (20,), {"kernel": "mean"}, variant="mean kernel"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class OwnConfig(MFECConfig):
    """Settings of an agent of the user's own."""

    greed: float = 0.5


class Own(MFEC):
    """An agent of the user's own."""

    Config = OwnConfig


def places(study: Study) -> set[tuple[str, str, object, object]]:
    """The agent, the environment, the strategy and the size of every run."""
    return {
        (run.agent.name, run.env, getattr(run.settings, "strategy", None), getattr(run.settings, "capacity", None))
        for run in study.runs()
    }


def test_a_study_has_every_combination_once() -> None:
    runs = STUDY.runs()
    assert len(runs) == len({run.id for run in runs}) == 3 * (4 + 1 + 4 + 1)
    assert ("d3qn", "CartPole-v1", None, None) in places(STUDY)
    assert {run.settings.neighbours for run in STUDY.grids[0].runs()} == {5}  # type: ignore[attr-defined]
    assert set(STUDY.variants().values()) == {"mean kernel"}
    assert STUDY.envs == ["CartPole-v1", "engram/OpenRoom-v0"]
    assert STUDY.agents == ["mfec", "d3qn"]


def test_only_what_is_asked_for() -> None:
    runs = STUDY.only(agents=["mfec"], strategies=["dkm", "fading"], sizes=[7], seeds=[3, 9], steps=100).runs()
    assert {(run.agent.name, run.steps, run.settings.capacity) for run in runs} == {("mfec", 100, 7)}  # type: ignore[attr-defined]
    assert {run.settings.seed for run in runs} == {3, 9}
    assert {run.env for run in STUDY.only(games=["open_room"]).runs()} == {"engram/OpenRoom-v0"}
    with pytest.raises(InvalidInputError, match="agents must be one of"):
        STUDY.only(agents=["dqn"])
    with pytest.raises(InvalidInputError, match="games must be one of"):
        STUDY.only(games=["pong"])


def test_settings_are_added_to_those_of_the_grids() -> None:
    first = STUDY.only(settings={"ties": "first"}).grids[0].runs()[0].settings
    assert (first.neighbours, first.ties) == (5, "first")  # type: ignore[attr-defined]


def test_an_agent_of_the_users_own_gets_grids_like_those_of_the_studys() -> None:
    added = STUDY.only(agents=["d3qn", Own])
    assert added.agents == ["d3qn", "Own"]
    own = [run for run in added.runs() if run.agent is Own]
    assert len(own) == 2 * 2 * 2 * 3  # environments, strategies, sizes, seeds
    assert all(isinstance(run.settings, OwnConfig) for run in own)
    assert {run.settings.neighbours for run in own} == {MFECConfig().neighbours}  # type: ignore[attr-defined]
    assert {run.steps for run in own} == {1_000}
    assert STUDY.only(agents=[f"{__name__}:Own"]).agents == ["Own"]


def test_a_grid_without_strategies_or_sizes_has_the_agents_defaults() -> None:
    (run,) = Grid("mfec", "CartPole-v1", 1_000, (0,)).runs()
    assert run.settings == MFECConfig()
    assert len(Grid("mfec", "CartPole-v1", 1_000, (0,), sizes=(20, 50)).runs()) == 2


def test_a_quick_study_is_part_of_the_whole() -> None:
    assert {run.id for run in STUDY.quick().runs()} < {run.id for run in STUDY.runs()}


@pytest.mark.parametrize(
    ("text", "seeds"), [("1", (0,)), ("3", (0, 1, 2)), ("5-7", (5, 6, 7)), ("4,", (4,)), ("8,1,8", (8, 1))]
)
def test_seeds_are_counted_spanned_or_listed(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


def test_how_many_seeds_are_counted_from_the_grids_first() -> None:
    grid = Grid("mfec", "CartPole-v1", 1_000, (12, 11))
    assert grid.with_seeds("3").seeds == (11, 12, 13)
    assert grid.with_seeds("2-3").seeds == (2, 3)
    assert replace(grid, seeds=()).with_seeds("2").seeds == (0, 1)


@pytest.mark.parametrize("text", ["0", "", "-3", "7-5", "a", "1;2", "1.5"])
def test_other_seeds_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"seeds must be how many \(5\)"):
        parse_seeds(text)


@pytest.mark.parametrize("text", ["50000000", "0-50000000", "7-99999999999999999"])
def test_more_seeds_than_a_study_can_have_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"--seeds: a study can have at most 100,000 runs, got [0-9,]+ seeds"):
        parse_seeds(text)


def test_more_runs_than_a_study_can_have_are_refused_before_they_are_made() -> None:
    grid = Grid("mfec", "CartPole-v1", 100, range(50_000), strategies=("lru", "dkm"), sizes=(10, 20))
    with pytest.raises(InvalidInputError, match=r"would have 200,000 runs, and can have at most 100,000; .*--seeds"):
        Study("large", "Large", (grid,)).runs()


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [((), []), ((20,), [20]), ((20, 50), [20, 50]), ((20, 50, 80), [20, 80]), ((5, 10, 25, 50, 100), [5, 50])],
)
def test_a_quick_study_has_two_sizes_and_two_of_its_own_seeds(sizes: tuple[int, ...], chosen: list[int]) -> None:
    quick = Grid("mfec", "CartPole-v1", 1_000, (5, 6, 7), ("lru",), sizes).quick()
    assert (list(quick.sizes), list(quick.seeds)) == (chosen, [5, 6])
