"""`engram tune`: what is tried depends on the seed alone, finished runs are kept, and the result can be typed."""

import copy
import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from engram.cli import main
from engram.commands.training_options import training_options
from engram.lab.outcome import News, Outcome
from engram.lab.search_file import Trial, best_of, write_search
from engram.lab.tuning import tune
from engram.runs.finished import shown_score
from engram.runs.run import Run
from tests.lab.test_search_space import FILE, read

WORDS = [
    *("tune", "mfec", "--space", "capacity=5..40:log", "strategy=lru,dkm", "--set", "discount=0.9", "--steps", "120"),
    *("--seeds", "2", "--evaluation-interval-steps", "40", "--evaluation-episodes", "1", "--jobs", "1"),
]


def made(out: Path) -> dict[str, int]:
    """When each finished run was written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in out.glob("*/result.json")}


def test_a_search_goes_on_is_shown_on_a_page_and_ends_with_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*WORDS, "--trials", "4"]) == 0
    out = Path("runs/tune-cartpole-mfec")
    first, told = made(out), json.loads((out / "tune.json").read_text())
    assert len(told["trials"]) == 4
    capsys.readouterr()
    assert main([*WORDS, "--trials", "6"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    more = json.loads((out / "tune.json").read_text())
    assert more["trials"][:4] == told["trials"]
    assert len(more["trials"]) == 6
    assert {name: when for name, when in made(out).items() if name in first} == first
    best = max(more["trials"], key=lambda trial: trial["score"])
    assert last == more["best"]["command"]
    _, _, agent, *words = shlex.split(last)
    run = training_options(agent, words).run()
    assert (out / run.id / "result.json").exists()
    assert (run.settings.to_json()["capacity"], run.settings.discount) == (best["settings"]["capacity"], 0.9)
    assert main(["report", str(out)]) == 0
    page = (out / "index.html").read_text()
    assert f"{shown_score(best['score'])} is the best of 6 trials" in page
    assert page.index("<h2>The best<") < page.index("<h2>What mattered<") < page.index("<h2>All trials<")
    for name in ("by-capacity", "by-strategy", "progress"):
        assert (out / "figures" / f"{name}.svg").exists()
    assert "--seed 2" in re.sub(r"</?span>", "", page)  # which the search has not seen
    assert "DkM" in page
    assert main([*WORDS, "--trials", "6", "--seed", "1"]) == 2
    assert "holds another search (its seed differ)" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_a_search_on_a_cluster_finds_the_same(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    for name, words in (("here", []), ("there", ["--ray", "local"])):
        assert main([*WORDS, "--trials", "5", *words, "--out", str(tmp_path / name)]) == 0
    here, there = ((tmp_path / name / "tune.json").read_bytes() for name in ("here", "there"))
    assert here == there


def test_mistakes_are_told_before_any_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(FILE.replace("CartPole-v1", "CartPol-v1"))
    for words, message in (
        (["tune", "mine.toml"], "did you mean 'CartPole-v1'"),
        (["tune", "mine.toml", "--space", "capacity=1,2"], "leave out --space"),
        (["tune", "mfec"], "there is nothing to search"),
        (["tune", "mfec", "--space", "capcity=1,2"], "did you mean 'capacity'"),
    ):
        assert main(words) == 2
        assert message in " ".join(capsys.readouterr().err.split())
    assert not Path("runs").exists()


def failing(runs: Sequence[Run], out: Path) -> Iterator[News]:
    """An executor in which every run fails."""
    for run in runs:
        yield Outcome.failed(run, ValueError("no"))


def test_a_trial_that_fails_has_no_score_and_the_search_goes_on(tmp_path: Path) -> None:
    space = read(tmp_path, FILE.replace("trials = 7", "trials = 3"))
    trials = tune(space, tmp_path / "out", executor=failing)
    assert [(trial.score, trial.failed) for trial in trials] == [(None, 2)] * 3
    assert best_of(trials) is None
    two = [Trial(0, {}, [1.0]), Trial(1, {}, [3.0, 1.0]), Trial(2, {}, [9.0], failed=1)]
    assert best_of(two) == two[1]


DAMAGES: dict[str, Callable[[Any], object]] = {
    "nothing": lambda told: told.clear(),
    "no agent": lambda told: told["search"].pop("agent"),
    "another env": lambda told: told["search"].update(env=3),
    "no space": lambda told: told["search"].update(space={}),
    "a space of words": lambda told: told["search"].update(space="capacity"),
    "a span without an end": lambda told: told["search"]["space"]["capacity"].pop("high"),
    "seeds": lambda told: told["search"].update(seeds=3),
    "steps": lambda told: told["search"].update(steps="many"),
    "a surrogate": lambda told: told["search"]["space"].update(strategy=["\ud800"]),
    "trials of words": lambda told: told.update(trials="all"),
    "a score of words": lambda told: told["trials"][0].update(scores=["high"]),
    "a score that is no number": lambda told: told["trials"][0].update(scores=[float("nan")]),
    "a setting that was not tried": lambda told: told["trials"][0]["settings"].update(strategy="rew"),
    "a setting outside its span": lambda told: told["trials"][0]["settings"].update(capacity=-7),
    "a setting of words": lambda told: told["trials"][0]["settings"].update(capacity="large"),
    "a setting that is missing": lambda told: told["trials"][0]["settings"].clear(),
    "a best of words": lambda told: told.update(best="the first"),
    "a command that is no text": lambda told: told["best"].update(command=["engram"]),
}


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the file of a search holds."""
    out = tmp_path_factory.mktemp("search")
    space = read(out, FILE.replace("trials = 7", "trials = 2"))
    write_search(space, [Trial(0, {"strategy": "lru", "capacity": 12, "delta": 0.01}, [1.0, 2.0])], out)
    found: dict[str, Any] = json.loads((out / "tune.json").read_text())
    return found


def test_the_page_of_a_search_replaces_no_other(
    searched: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tune.json").write_text(json.dumps(searched))
    out = tmp_path / "page"
    assert main(["report", str(tmp_path), "--out", str(out)]) == 0
    assert main(["report", str(tmp_path), "--out", str(out)]) == 0  # its own
    (out / "index.html").unlink()
    assert main(["report", str(tmp_path), "--out", str(out)]) == 2
    assert f"{out / 'README.md'} is there already, and no page about the same" in capsys.readouterr().err


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_of_a_search_is_told_of(
    name: str, searched: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = copy.deepcopy(searched)
    DAMAGES[name](told)
    (tmp_path / "tune.json").write_text(json.dumps(told))
    assert main(["report", str(tmp_path)]) == 2
    assert "cannot read" in capsys.readouterr().err
