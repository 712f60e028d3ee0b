"""What is searched: from a file or from words, checked before the first run, and typed back as a command."""

import shlex
import sys
from pathlib import Path

import pytest

from engram.commands.training_options import training_options
from engram.errors import InvalidInputError
from engram.lab.grid import Grid
from engram.lab.search_space import Choice, SearchSpace, Span, parse_choices, parse_settings, read_space

FILE = """
name = "pole"
agent = "mfec"
env = "CartPole-v1"
steps = 600
seeds = 2
trials = 7
settings = { discount = 0.9, duplicates = true }
evaluation = { interval_steps = 200, episodes = 2 }

[space]
strategy = ["lru", "dkm"]
capacity = { low = 10, high = 100, log = true }
delta = { low = 1e-4, high = 1.0 }
"""


@pytest.fixture(autouse=True)
def same_path_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a file adds its folder to the module path."""
    monkeypatch.setattr(sys, "path", [*sys.path])


def read(folder: Path, text: str) -> SearchSpace:
    path = folder / "my-search.toml"
    path.write_text(text)
    return read_space(path)


def test_a_file_describes_a_search_whose_command_is_the_same_run(tmp_path: Path) -> None:
    space = read(tmp_path, FILE)
    assert (space.name, space.trials, space.grid.steps, space.grid.seeds) == ("pole", 7, 600, (0, 1))
    assert space.choices == {
        "strategy": Choice(("lru", "dkm")),
        "capacity": Span(10, 100, log=True),
        "delta": Span(1e-4, 1.0),
    }
    chosen = {"strategy": "dkm", "capacity": 35, "delta": 0.01}
    first, second = space.runs(chosen)
    assert (first.settings.seed, second.settings.seed) == (0, 1)
    _, _, agent, *words = shlex.split(space.command(chosen))
    assert training_options(agent, words).run().id == first.id


def test_words_describe_a_space() -> None:
    assert parse_choices(
        ["capacity=20..500:log", "delta=1e-4..1.5", "strategy=lru,dkm:decay=0.3", "duplicates=true"]
    ) == {
        "capacity": Span(20, 500, log=True),
        "delta": Span(1e-4, 1.5),
        "strategy": Choice(("lru", "dkm:decay=0.3")),
        "duplicates": Choice((True,)),
    }
    assert parse_choices(["epsilon-final=0.5..1"]) == {"epsilon_final": Span(0.5, 1)}
    assert parse_settings(["discount=0.9", "strategy=lru"]) == {"discount": 0.9, "strategy": "lru"}
    for words in (["capacity"], ["capacity="]):
        with pytest.raises(InvalidInputError, match="expected setting="):
            parse_choices(words)
    with pytest.raises(InvalidInputError, match="expected setting=value"):
        parse_settings(["discount"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FILE.replace("capacity =", "capcity ="), "did you mean 'capacity'"),
        (FILE.replace('"dkm"]', '"dmk"]'), "did you mean 'dkm'"),
        (FILE.replace("low = 10,", "low = 0,"), "low must be above 0 where orders of magnitude"),
        (FILE.replace("high = 1.0", "high = 1e-5"), "low must be below high"),
        (FILE.replace("high = 1.0", "high = 1e99"), "delta must be"),
        (FILE.replace("high = 1.0", 'high = "x"'), "high must be a number"),
        (FILE.replace("low = 1e-4, high = 1.0", "low = 1e-4"), "a span needs low and high"),
        (FILE.replace("{ low = 1e-4, high = 1.0 }", "3"), "must be a list of values or"),
        (FILE.replace('["lru", "dkm"]', "[]"), "choose from one or more"),
        (FILE.replace("delta =", "seed ="), "seed cannot be searched"),
        (FILE.partition("[space]")[0], "there is nothing to search"),
        (FILE.replace("trials = 7", "trials = 0"), "trials must be"),
        (FILE.replace("steps = 600", "steps = 100"), "there is none; choose more steps"),
        (FILE.replace('agent = "mfec"', 'agent = ["mfec", "nec"]'), "one agent and one environment"),
        (FILE.replace("trials = 7", "sizes = [5]"), "sizes is a key of studies"),
        ("space = ", "is not a TOML file"),
    ],
)
def test_mistakes_are_told_before_any_run(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=rf"my-search\.toml.*{message}"):
        read(tmp_path, text)


def test_a_search_as_plain_data_has_everything_that_decides_it() -> None:
    grid = Grid("mfec", "CartPole-v1", 500, (0,))
    one, other = (SearchSpace("x", grid, {"capacity": Span(5, high)}) for high in (9, 10))
    assert one.to_json() != other.to_json()
    assert one.to_json()["space"] == {"capacity": {"low": 5, "high": 9, "log": False}}
