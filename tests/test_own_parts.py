"""Parts and an agent of one's own, as the documentation has them: short, and used in every way that there is."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engram import MFEC, load
from engram.cli import main
from engram.errors import EngramError
from engram.files.arrays import read_arrays, write_arrays

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Case:
    """A part in the documentation, how long it may be, and how it is given to the commands."""

    document: str
    class_name: str
    lines: int
    options: tuple[str, ...] = ()  # that name it again, for eval and resume
    agent: str = "mfec"
    study: tuple[str, ...] = ("--agents", "mfec")

    @property
    def source(self) -> str:
        """Its code, without the lines that use it."""
        text = (DOCS / self.document).read_text()
        block = next(found[1] for found in BLOCK.finditer(text) if f"class {self.class_name}(" in found[1])
        begin = block.index(f"class {self.class_name}(")
        used = re.search(r"^(agent|memory) = |^for |^print", block[begin:], re.MULTILINE)
        return block[: begin + used.start()] if used else block


CASES = {
    "encoder": Case("parts.md", "Rounded", 15, ("--encoder", "own_parts:Rounded:digits=2")),
    "compiled strategy": Case(
        "strategies.md",
        "BestEpisodes",
        40,
        ("--strategy", "own_parts:BestEpisodes:margin=5.0"),
        study=("--agents", "mfec", "--strategies", "own_parts:BestEpisodes:margin=5.0"),
    ),
    "exploration": Case("parts.md", "Sometimes", 10, ("--exploration", "own_parts:Sometimes:chance=0.2")),
    "agent": Case(
        "parts.md",
        "Tabular",
        60,
        ("--agent", "own_parts:Tabular"),
        agent="own_parts:Tabular",
        study=("--agents", "own_parts:Tabular"),
    ),
}


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Case]:
    """A case whose code lies in a file of the current folder."""
    chosen = CASES[request.param]
    (tmp_path / "own_parts.py").write_text(chosen.source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield chosen
    sys.modules.pop("own_parts", None)


@pytest.mark.parametrize("name", CASES)
def test_it_is_short(name: str) -> None:
    code = [line for line in CASES[name].source.splitlines() if line.strip()]
    assert len(code) <= CASES[name].lines


def train(case: Case, out: str, steps: int = 1_500) -> list[str]:
    """The words of a training run."""
    given = [] if case.options[0] == "--agent" else list(case.options)
    words = ["train", case.agent, *given, "--steps", str(steps), "--evaluation-episodes", "2"]
    memory = ["--capacity", "30"] if case.agent == "mfec" else []
    return [*words, *memory, "--no-progress", "--checkpoint-interval-steps", "200", "--out", out]


def test_it_survives_a_kill_and_is_asked_for_by_name(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    process = subprocess.Popen([sys.executable, "-m", "engram", *train(case, "killed", 50_000)])
    deadline = time.monotonic() + 120
    while not list(Path("killed").glob("checkpoint-*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    config = json.loads(Path("killed/config.json").read_text())
    assert config["foreign"] == {case.options[0].removeprefix("--"): case.options[1]}

    sys.modules.pop("own_parts", None)
    assert main(["train", "--resume", "killed", "--no-progress"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert told.endswith(f"the whole command: engram train --resume killed --no-progress {' '.join(case.options)}")
    assert "own_parts" not in sys.modules, "a file made Engram import a module"


class KilledError(BaseException):
    """Ends a process as a kill does: nothing handles it."""


def test_resumed_it_ends_as_if_nothing_had_happened(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    from engram.runs.checkpoints import Checkpoints  # noqa: PLC0415

    assert main(train(case, "whole")) == 0
    usual = Checkpoints.save

    def killed(self: Checkpoints, step: int, *rest: Any, **more: Any) -> None:
        usual(self, step, *rest, **more)
        if step >= 600:
            raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoints, "save", killed)
        with pytest.raises(KilledError):
            main(train(case, "halved"))
    assert main(["train", "--resume", "halved", "--no-progress", *case.options]) == 0
    for name in ("config.json", "progress.jsonl", "result.json", "model.safetensors"):
        assert Path("halved", name).read_bytes() == Path("whole", name).read_bytes(), name


@pytest.mark.slow
def test_it_is_evaluated_studied_and_reported(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(train(case, "run", 600)) == 0
    capsys.readouterr()
    assert main(["eval", "run", "--episodes", "2"]) == 2
    assert f"engram eval run {' '.join(case.options)}" in " ".join(capsys.readouterr().err.split())
    assert main(["eval", "run", "--episodes", "2", *case.options]) == 0
    given = [] if case.options[0] in ("--agent", "--strategy") else list(case.options)
    sizes = ["--sizes", "20"] if case.agent == "mfec" else []
    sizes += ["--strategies", "lru"] if sizes and "--strategies" not in case.study else []
    words = ["study", "cartpole", *case.study, *given, *sizes, "--seeds", "2", "--steps", "1000", "--jobs", "2"]
    assert main([*words, "--evaluation-episodes", "2", "--out", "study"]) == 0
    results = list(Path("study").glob("*/result.json"))
    assert len(results) == 2
    sys.modules.pop("own_parts", None)
    assert main(["report", "study"]) == 0
    assert "own_parts" not in sys.modules, "a report made Engram import a module"
    page = Path("study/index.html").read_text()
    assert ("Tabular" if case.agent != "mfec" else "MFEC") in page


EVIL = "raise SystemExit('a file made Engram import a module')"


@pytest.mark.parametrize(
    "part",
    [
        {"strategy": "evil:C"},
        {"encoder": "evil:C"},
        {"exploration": "evil:C:x=1"},
        {"encoder": {"name": "frozen", "module": "evil:f"}},
        {"encoder": {"name": "evil:C"}},
        {"strategy": ["evil:C"]},
        {"strategy": {"name": "evil:C", "source": "0"}},
    ],
    ids=str,
)
def test_no_file_can_make_engram_import_a_module(
    part: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "evil.py").write_text(EVIL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    MFEC("CartPole-v1", capacity=5).learn(30).save("model.safetensors")
    manifest, arrays = read_arrays(Path("model.safetensors"))
    manifest["description"]["config"] |= part
    write_arrays(Path("model.safetensors"), {k: v for k, v in manifest.items() if k != "version"}, arrays)
    with pytest.raises(EngramError):
        load("model.safetensors")
    assert main(["eval", "model.safetensors"]) == 2
    assert main(["train", "mfec", "--capacity", "5", "--steps", "60", "--no-progress", "--out", "run"]) == 0
    config = json.loads(Path("run/config.json").read_text())
    config["settings"] |= part
    Path("run/config.json").write_text(json.dumps(config))
    assert main(["train", "--resume", "run"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert "evil" not in sys.modules
