"""The commands that the documents print are understood as they stand; slowly, they are carried out as well."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from engram.cli import COMMANDS, main
from tests.test_docs import BLOCK, ROOT

DOCUMENTS = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
FILE_NAME = re.compile(r"^# ([\w-]+\.(?:py|toml))\n")
NOT_HERE = {  # commands that are only looked at, and why
    r"^study acrobot --ray auto": "needs a cluster",
    r"--device cuda": "needs a GPU",
    r"^bench": "takes minutes, and needs a machine of its own",
}
SHORTER = {  # what is added to commands that would take long
    r"^study atari100k .*--games": "--steps 1000 --evaluation-interval-steps 1000 --evaluation-episodes 1",
    r"^study \w+\b(?!.*--quick)": "--quick --steps 1000",
    r"^study .*--quick": "--steps 1000",
    r"^tune ": "--steps 1000 --trials 3 --seeds 1",
}


def blocks(document: Path, *languages: str) -> list[str]:
    """The code blocks of a document in one of these languages."""
    return [found[2] for found in BLOCK.finditer(document.read_text()) if found[1] in languages]


def commands(document: Path) -> list[str]:
    """What a document tells its reader to type after `engram`, in order; settings of the shell are left out."""
    lines = "\n".join(blocks(document, "sh", "bash")).replace("\\\n", " ").splitlines()
    found = (re.match(r"(?:[A-Z_]+=\S+ )*engram (.+)", line) for line in lines)
    words = (shlex.split(match[1].partition(" > ")[0], comments=True) for match in found if match)
    return [shlex.join(each) for each in words]


def all_commands() -> Iterator[Any]:
    for command in dict.fromkeys(each for document in DOCUMENTS for each in commands(document)):
        yield pytest.param(command, id=command)


@cache
def help_of(words: tuple[str, ...]) -> str:
    """What `--help` says."""
    with redirect_stdout(StringIO()) as told, suppress(SystemExit):
        main([*words, "--help"])
    return told.getvalue()


@pytest.mark.parametrize("command", list(all_commands()))
def test_every_command_and_each_of_its_options_is_known(command: str) -> None:
    name, *words = shlex.split(command)
    assert name in COMMANDS
    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    agent = next((word for word in words if name == "train" and word in ("mfec", "nec", "d3qn")), "mfec")
    told = help_of((name, agent)) if name == "train" else help_of((name,))
    own = {"--resume", "--agent", "--learning-rate"} if name == "train" else set()
    assert {option for option in options - own if not re.search(rf"{option}\b", told)} == set()


@pytest.mark.slow
@pytest.mark.parametrize("document", [pytest.param(each, id=each.name) for each in DOCUMENTS if commands(each)])
def test_every_command_does_its_work(document: Path, tmp_path: Path) -> None:
    """In the order of the page, in one folder, beside the files that the page shows."""
    for folder in ("examples", "results"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for code in blocks(document, "python", "toml"):
        if name := FILE_NAME.search(code):
            (tmp_path / name[1]).write_text(code)
    for command in commands(document):
        if any(re.search(pattern, command) for pattern in NOT_HERE):
            continue
        more = next((words for pattern, words in SHORTER.items() if re.search(pattern, command)), "")
        words = [sys.executable, "-m", "engram", *shlex.split(f"{command} {more}")]
        offline = {**os.environ, "WANDB_MODE": "offline"}
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, env=offline)
        assert done.returncode == 0, f"engram {command}\n{done.stdout}\n{done.stderr}"
