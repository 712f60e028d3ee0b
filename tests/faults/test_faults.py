"""A short part of every campaign; `make test-faults` runs all of it."""

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import agent_calls, fuzz, memory_calls, power
from tests.faults.folders import folders
from tests.faults.hostile_calls import outcomes_of
from tests.faults.kills import Case, StudyCase, kills
from tests.faults.storage import CHECKS, storage_faults

SHORT = (
    Case("mfec", "--strategy dkm --capacity 50 --steps 2000", 0.05),
    Case("nec", "--capacity 50 --steps 400 --learning-start-steps 100 --batch-size 8 --replay-size 300", 0.1, True),
)
SHORT_STUDIES = (StudyCase("--agents mfec --strategies lru --sizes 20 --steps 2000 --seeds 2", 2),)


@pytest.mark.slow
def test_kills() -> None:
    tally = kills(3, 1, SHORT, SHORT_STUDIES)
    assert tally.losses == []
    assert tally.counts["kills"] >= 2
    assert tally.counts["kills of studies"] >= 1


@pytest.mark.slow
def test_damaged_folders() -> None:
    tally = folders(10, 1)
    assert tally.losses == []
    assert tally.counts["damaged folders"] == 10


@pytest.mark.slow
def test_power_cuts() -> None:
    tally = power.power_cuts(power.TINY, 1, most=120)
    assert tally.losses == []
    assert tally.counts["disks after a power cut"] == 120


@pytest.mark.slow
@pytest.mark.parametrize("ignoring", ["sync", "sync_folder"])
def test_power_cuts_find_what_is_not_synced(ignoring: str) -> None:
    assert power.power_cuts(power.TINY, 1, most=100, ignoring=ignoring).losses


@pytest.mark.slow
def test_storage_faults() -> None:
    tally = storage_faults(power.TINY, stride=4)
    assert tally.losses == []
    assert tally.counts["faults reported"] > 100


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_folders_and_processes(check: Callable[[Path], None], tmp_path: Path) -> None:
    check(tmp_path)


@pytest.mark.slow
def test_mutated_files_are_refused_or_learned_from(tmp_path: Path) -> None:
    files, path, outcomes = fuzz.originals(tmp_path), tmp_path / "mutated.safetensors", set()
    for number in range(250):
        original, content = fuzz.mutation(files, 1, number)
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes.add(fuzz.outcome(path, original.env))
    assert {"refused", "learned from"} <= outcomes <= set(fuzz.OUTCOMES)


def test_a_worker_that_dies_or_hangs_is_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "HANG_SECONDS", 1.0)
    begin = "import json, os, sys, time; print(json.dumps([int(sys.argv[1]), 'begun']), flush=True); "
    for ending, what in (("os.abort()", "died with code -6"), ("time.sleep(60)", "not done after 1 s")):
        monkeypatch.setattr(fuzz, "PROGRAM", ("-c", begin + ending))
        tally = fuzz.fuzz_slice(3, 5, 1)
        assert [what in loss for loss in tally.losses] == [True, True]
        assert "file 3 of seed 1" in tally.losses[0]


@pytest.mark.slow
def test_hostile_calls_of_the_memory() -> None:
    tally = outcomes_of(5_000, 1, memory_calls.new_memories, memory_calls.CALLS)
    assert tally.losses == []
    assert min(tally.counts["refused"], tally.counts["accepted"]) > 200


@pytest.mark.slow
def test_hostile_calls_of_agents() -> None:
    tally = outcomes_of(1_000, 1, agent_calls.new_agents, agent_calls.CALLS)
    assert tally.losses == []
    assert min(tally.counts["refused"], tally.counts["accepted"]) > 50
