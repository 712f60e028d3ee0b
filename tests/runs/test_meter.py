"""What a run costs: processor time over all stretches, and bytes; only `meta.json` tells it."""

import json
from pathlib import Path
from typing import Any

import pytest

from engram.agents.d3qn import D3QN, D3QNConfig
from engram.agents.mfec import MFEC, MFECConfig
from engram.runs.extending import extend
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from engram.training.events import Event

RUN = Run(MFEC, "engram/OpenRoom-v0", MFECConfig(capacity=30, seed=1), 600, 300, 1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock of processor time that shows its only number."""
    shown = [1_000.0]
    monkeypatch.setattr("engram.runs.meter.time.process_time", lambda: shown[0])
    return shown


def stretch(folder: Path, run: Run, clock: list[float], seconds: float, *, until: int | None = None) -> dict[str, Any]:
    """Go on with a run, to its end or to a step, in a process that has been at work before; return its meta."""
    clock[0] += 5_000.0
    work = [seconds]  # that the first event takes

    def pass_time(event: Event) -> bool:
        clock[0] += work.pop() if work else 0.0
        return until is None or event.step < until

    RunFolder(folder).record(run, run.make_agent(), pass_time, tell=lambda text: None)
    return RunFolder(folder).meta


def test_processor_time_is_summed_over_interruptions_and_extensions(tmp_path: Path, clock: list[float]) -> None:
    folder = tmp_path / "run"
    assert stretch(folder, RUN, clock, 7.0, until=200) == {}, "it is not finished"
    assert stretch(folder, RUN, clock, 4.0)["cpu_seconds"] == 11
    longer = extend(RunFolder(folder), RUN, 900, tell=lambda text: None)
    assert stretch(folder, longer, clock, 2.0)["cpu_seconds"] == 13


def test_bytes_are_those_of_the_memory(tmp_path: Path) -> None:
    agent = RUN.make_agent()
    RunFolder(tmp_path / "run").record(RUN, agent)
    meta = RunFolder(tmp_path / "run").meta
    assert meta["memory_bytes"] == agent.memory.nbytes > 4 * 30 * 2 * 4  # type: ignore[attr-defined]
    assert meta["cpu_seconds"] > 0
    plain = Run(D3QN, "engram/OpenRoom-v0", D3QNConfig(seed=1), 60, 60, 1)
    RunFolder(tmp_path / "plain").record(plain, plain.make_agent())
    assert "memory_bytes" not in RunFolder(tmp_path / "plain").meta


@pytest.mark.parametrize("text", ["", "[]", '{"cpu_seconds": "much"}', '{"cpu_seconds": -1}'])
def test_a_run_goes_on_whatever_was_told_of_its_cost(text: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.record(RUN, RUN.make_agent())
    (folder.path / "meta.json").write_text(text)
    longer = extend(folder, RUN, 900, tell=lambda text: None)
    assert folder.record(longer, longer.make_agent(), tell=lambda text: None) is not None
    assert json.loads((folder.path / "meta.json").read_text())["cpu_seconds"] > 0
