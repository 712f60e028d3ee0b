"""The paper's studies: they have the runs that its protocol describes."""

from collections import Counter

import pytest

from engram import MFEC, NEC
from engram.lab.grid import Study, load
from engram.lab.verdicts import ClaimList
from engram.memory.strategies import Strategy, get_strategy
from engram.paper.grids import FIVE
from engram.paper.registry import STUDIES
from engram.runs.run import Run

CLASSIC_SIZES = (50, 100, 150, 500, 1000, 3000, 5000, 10_000)
RUNS = {name: study for name, study in STUDIES.items() if study.grids}


def test_every_folder_of_the_paper_is_a_study() -> None:
    names = {"cartpole", "acrobot", "openroom", "fourroom", "atari", "atari100k", "forgetting", "remembering", "open"}
    names |= {"ideas", "stream"}
    assert set(STUDIES) == names


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_what_a_study_names_can_be_imported(study: Study) -> None:
    assert not study.claims or isinstance(load(study.claims), ClaimList)
    assert not study.report or hasattr(load(study.report), "read")
    assert callable(load(study.experiment)) if study.experiment else study.grids


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("cartpole", 1205),
        ("acrobot", 905),
        ("openroom", 1205),
        ("fourroom", 1205),
        ("atari", 135),
        ("atari100k", 304),
        ("forgetting", 1280),
        ("remembering", 6450),
        ("open", 1070),
    ],
)
def test_studies_have_as_many_runs_as_the_protocol_says(name: str, runs: int) -> None:
    assert len({run.id for run in STUDIES[name].runs()}) == runs


def test_cartpole_is_the_papers_first_table() -> None:
    runs = STUDIES["cartpole"].runs()
    assert {run.env for run in runs} == {"CartPole-v1"}
    assert {(run.agent.name, run.steps) for run in runs} == {("mfec", 15_000), ("nec", 20_000), ("d3qn", 20_000)}
    cells = {(run.settings.strategy, run.settings.capacity) for run in runs if run.agent.name == "nec"}  # type: ignore[attr-defined]
    assert cells == {(strategy, size) for strategy in FIVE for size in CLASSIC_SIZES}
    seeds = {name: {run.settings.seed for run in runs if run.agent.name == name} for name in ("mfec", "nec", "d3qn")}
    assert {name: len(each) for name, each in seeds.items()} == {"mfec": 20, "nec": 10, "d3qn": 5}
    assert min(run.settings.seed for run in runs) >= 10, "0 to 9 were known when the rules for claims got their form"
    assert {(run.evaluation_interval_steps, run.evaluation_episodes) for run in runs} == {(500, 10)}


def test_atari_gives_nec_with_the_larger_memory_fewer_steps() -> None:
    runs = STUDIES["atari"].runs()
    steps = {(run.agent.name, getattr(run.settings, "capacity", None)): run.steps for run in runs}
    assert steps == {
        ("mfec", 10_000): 5_000_000,
        ("mfec", 100_000): 5_000_000,
        ("nec", 10_000): 5_000_000,
        ("nec", 100_000): 3_500_000,
        ("d3qn", None): 5_000_000,
    }
    assert {run.evaluation_interval_steps for run in runs} == {50_000}
    assert len({run.env for run in runs}) == 5


def test_a_taste_is_part_of_the_whole() -> None:
    for study in RUNS.values():
        whole = {run.id for run in study.runs()}
        taste = {run.id for run in study.quick().runs()}
        assert taste < whole
        assert 2 * len(taste) <= len(whole) or study.name == "atari"


def test_the_open_study_changes_one_thing_at_a_time() -> None:
    study = STUDIES["open"]
    runs, variants = study.runs(), study.variants()
    plain = [run for run in runs if run.id not in variants]
    others = (STUDIES[name] for name in ("cartpole", "acrobot", "openroom"))
    assert {run.id for run in plain} < {run.id for other in others for run in other.runs()}
    mfec, nec = ([run for run in plain if run.agent.name == name] for name in ("mfec", "nec"))
    sizes = Counter(variants.values())
    assert sizes.pop("episodes merged as one") == count(mfec, "clusters")
    assert sizes.pop("random steps count as use") == count(mfec, "touches") == 25
    assert sizes.pop("clusters found by raw states") == count(nec, "clusters") == 20
    assert sizes.pop("the older key stays") == len(nec) == 50
    assert list(sizes.values()) == [len(mfec)] * 6
    assert len(runs) == len(plain) + len(variants) == 1070
    defaults = {"mfec": MFEC.Config().to_json(), "nec": NEC.Config().to_json()}
    for run in runs:
        changed = {name for name, value in run.settings.to_json().items() if value != defaults[run.agent.name][name]}
        changed -= {"seed", "strategy", "capacity"}
        evaluated = (run.evaluation_interval_steps, run.evaluation_epsilon) != (500, 0)
        assert len(changed) + evaluated == (run.id in variants)


def count(runs: list[Run], what: str) -> int:
    """How many runs have a strategy that does this."""
    return sum(getattr(get_strategy(run.settings.strategy), what) for run in runs)  # type: ignore[attr-defined]


def test_only_strategies_that_merge_are_asked_to_merge_otherwise() -> None:
    """Whatever strategies are chosen, a choice that they do not have is not asked of them."""

    class Merging(Strategy):
        clusters = True

    study = STUDIES["open"].only(strategies=("lru", "fading", "km", Merging()), sizes=(9,), seeds=(0,))
    asked = [run.settings.to_json() for run in study.runs()]
    for setting, value, times in (("merging", "episode", 3), ("clusters_by", "observations", 1)):
        names = [settings["strategy"]["name"] for settings in asked if settings.get(setting) == value]
        assert names == ["fading", "kmeans"] * times
    assert [settings["strategy"]["name"] for settings in asked if settings.get("always_read")] == ["lru"] * 3
