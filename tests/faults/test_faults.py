"""A short part of every campaign; `make test-faults` runs all of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import power
from tests.faults.kills import Case, kills
from tests.faults.memory_calls import campaign
from tests.faults.storage import CHECKS, storage_faults

SHORT = (
    Case("mfec", "--strategy dkm --capacity 50 --steps 2000", 0.05),
    Case("nec", "--capacity 50 --steps 400 --learning-start-steps 100 --batch-size 8 --replay-size 300", 0.1, True),
)


def test_kills() -> None:
    tally = kills(4, 1, SHORT)
    assert tally.losses == []
    assert tally.counts["kills"] >= 4


def test_power_cuts() -> None:
    tally = power.power_cuts(power.TINY, 1, most=200)
    assert tally.losses == []
    assert tally.counts["disks after a power cut"] == 200


@pytest.mark.parametrize("ignoring", ["sync", "sync_folder"])
def test_power_cuts_find_what_is_not_synced(ignoring: str) -> None:
    assert power.power_cuts(power.TINY, 1, most=100, ignoring=ignoring).losses


def test_storage_faults() -> None:
    tally = storage_faults(power.TINY, stride=4)
    assert tally.losses == []
    assert tally.counts["faults reported"] > 100


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_folders_and_processes(check: Callable[[Path], None], tmp_path: Path) -> None:
    check(tmp_path)


def test_hostile_calls_of_the_memory() -> None:
    found = campaign(2_000, 1)
    assert found["problems"] == []
    assert found["calls"] == found["refused"] + found["accepted"]
    assert min(found["refused"], found["accepted"]) > 500
