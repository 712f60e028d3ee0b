"""Help in groups, completion in a shell, and what is typed wrongly."""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from tyro.conf import Positional

from engram import MFEC, checks
from engram.cli import COMMANDS, main
from engram.commands.options import as_typed, options_of, parse
from engram.commands.train import Resume


@dataclass(frozen=True)
class Sample:
    """A command."""

    folder: Positional[Path]  # where
    kind: Literal["a", "b"] = "a"  # which of two
    rate: float | None = None  # how fast; by default as it comes
    sizes: tuple[int, ...] = ()  # several
    quick: bool = False  # a part only
    progress: bool = True  # show nothing


def test_options_are_described_as_they_are_typed() -> None:
    told = {option.name: (option.takes, option.default, option.about) for option in options_of(Sample)}
    assert told == {
        "FOLDER": ("", "", "where"),
        "--kind": ("a|b", "a", "which of two"),
        "--rate": ("X", "", "how fast; by default as it comes"),
        "--sizes": ("N …", "", "several"),
        "--quick": ("", "", "a part only"),
        "--no-progress": ("", "", "show nothing"),
    }


def test_a_command_is_printed_as_it_was_typed() -> None:
    options = Sample(Path("a b"), "b", 0.5, (1, 2), True, False)
    assert as_typed("engram sample", options) == (
        "engram sample 'a b' --kind b --rate 0.5 --sizes 1 2 --quick --no-progress"
    )
    assert as_typed("engram sample", Sample(Path("x"))) == "engram sample x"
    given = Resume(run=Path("x"), wrapper=("TimeLimit?max_episode_steps=9", "m:C"), log=("csv",), steps=7)
    words = as_typed("engram train --resume", given)
    assert words == (
        "engram train --resume x --log csv --wrapper 'TimeLimit?max_episode_steps=9' --wrapper m:C --steps 7"
    )
    assert parse(Resume, prog="", words=shlex.split(words)[3:]) == given


def shown(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("agent", ["mfec", "nec", "d3qn"])
def test_help_begins_with_what_one_sets_first(
    agent: str, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    told = shown(["train", agent, "--help"], capsys)
    places = [
        told.index(f"  --{name} ") for name in ("env", "steps", "seed", "discount", "evaluation-episodes", "ties")
    ]
    assert places == sorted(places)
    assert "{None}" not in told
    assert "[None]" not in told
    assert max(map(len, told.splitlines())) <= width
    assert told.count("  --seed ") == 1


@pytest.mark.parametrize("words", [["train"], ["train", "--help"], ["train", "-h"]])
def test_help_of_train_lists_the_agents_and_the_options_of_all(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(words) == 0
    told = capsys.readouterr().out
    assert told.startswith("usage: engram train AGENT [OPTIONS]\n       engram train --resume FOLDER [OPTIONS]\n")
    for line in ("mfec                      Model-free episodic control", "nec  ", "d3qn  ", "module:Class  "):
        assert f"\n  {line}" in told
    for option in ("--env NAME", "--steps N", "--out PATH", "--discount X", "--evaluation-episodes N"):
        assert f"\n  {option}" in told
    assert "\n  --capacity" not in told  # D3QN has none
    assert "engram train mfec --help" in " ".join(told.split())
    assert "engram train --resume --help" in " ".join(told.split())
    assert "[depends on the agent]" in told  # steps
    assert max(map(len, told.splitlines())) <= 80


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "train"])
def test_every_command_says_something_about_every_option(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown([name, "--help"], capsys).splitlines()
    assert lines[0].startswith(f"usage: engram {name}")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("  --"):
            assert len(line) > 28 or following.startswith(" " * 28), line


LIGHT = """
import sys
from engram.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
heavy = {"torch", "numba", "matplotlib", "polars", "tyro"}
print(*({name.partition(".")[0] for name in sys.modules} & heavy), file=sys.stderr)
"""


def test_help_imports_little() -> None:
    def imported(*words: str) -> set[str]:
        done = subprocess.run([sys.executable, "-c", LIGHT, *words], capture_output=True, text=True, check=True)
        return set(done.stderr.split())

    assert imported("--help") == set()
    assert "torch" not in imported("train", "--help")
    assert "torch" not in imported("train", "nec", "--help")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    (tmp_path / "engram.bash").write_text(capsys.readouterr().out)

    def completed(*words: str) -> set[str]:
        typed = " ".join(f"'{word}'" for word in words)
        program = (
            f"source engram.bash; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _engram; echo ${{COMPREPLY[*]}}"
        )
        done = subprocess.run(["bash", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    assert completed("engram", "") >= {"train", "eval", "study", "completion"}
    assert completed("engram", "train", "") == {"mfec", "nec", "d3qn", "--resume", "--help"}
    assert completed("engram", "train", "mfec", "--cap") == {"--capacity"}
    assert completed("engram", "train", "d3qn", "--cap") == set()
    assert completed("engram", "train", "mfec", "--strategy", "k") == {"kmeans"}
    assert completed("engram", "eval", "runs/x", "--vi") == {"--video"}
    assert completed("engram", "train", "mfec", "--env", "engram/Op") == {"engram/OpenRoom-v0"}
    assert completed("engram", "completion", "f") == {"fish"}
    assert completed("engram", "study", "car") == {"cartpole"}
    assert completed("engram", "tune", "m") == {"mfec"}
    assert completed("engram", "train", "mfec", "--wrapper", "Ti") == {"TimeAwareObservation", "TimeLimit"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_their_scripts(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "capacity" in script
    if shutil.which(shell) is not None:
        (tmp_path / "script").write_text(script)
        done = subprocess.run([shell, "-n", "script"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("given", "choices", "meant"),
    [
        ("lur", ("adaptive", "dkm", "fading", "kmeans", "lru", "rew", "sur"), "lru"),
        ("dmk", ("dkm", "kmeans", "lru"), "dkm"),
        ("LRU", ("lru", "rew"), "lru"),
        ("capcity", ("seed", "capacity", "delta"), "capacity"),
        ("CartPol-v1", ("CartPole-v0", "CartPole-v1"), "CartPole-v1"),
        ("kmean", ("dkm", "kmeans"), "kmeans"),
    ],
)
def test_the_nearest_name_is_found(given: str, choices: tuple[str, ...], meant: str) -> None:
    assert checks.nearest(given, choices) == f"did you mean {meant!r}? "


def test_nothing_is_offered_that_is_not_like_it() -> None:
    assert checks.nearest("novelty", ("lru", "rew")) == ""
    assert checks.nearest("x", ()) == ""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a screen may be there")
def test_a_film_brings_no_greeting(tmp_path: Path) -> None:
    pytest.importorskip("pygame")
    MFEC("CartPole-v1", capacity=10).save(tmp_path / "model.safetensors")
    words = ["eval", "model.safetensors", "--episodes", "1", "--video", "film.gif"]
    environment = {name: value for name, value in os.environ.items() if "DISPLAY" not in name and "XDG" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "engram", *words],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "pygame" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [2, 15])
def test_a_signal_while_importing_ends_with_a_word(number: int, tmp_path: Path) -> None:
    """A module that Engram imports sends the signal."""
    (tmp_path / "gymnasium.py").write_text(f"import os, time; os.kill(os.getpid(), {number}); time.sleep(9)")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-m", "engram", "--help"], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (128 + number, "stopped\n")
