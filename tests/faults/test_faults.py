"""A slice of every campaign; `make test-faults` runs them whole."""

import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.faults import power
from tests.faults.kills import Case, kills
from tests.faults.storage import CHECKS, storage_faults

SHORT = (
    Case("mfec", "--strategy dkm --capacity 50 --steps 3000", 0.05),
    Case("nec", "--capacity 50 --steps 600 --learning-start-steps 100 --batch-size 8 --replay-size 300", 0.1, True),
)


def test_kills() -> None:
    tally = kills(6, 1, SHORT)
    assert tally.losses == []
    assert tally.counts["kills"] >= 6


def test_power_cuts() -> None:
    tally = power.power_cuts(power.TINY, 1, most=400)
    assert tally.losses == []
    assert tally.counts["disks after a power cut"] == 400


@pytest.mark.parametrize("forgotten", ["fsync", "sync_folder"])
def test_power_cuts_find_what_is_not_synced(forgotten: str) -> None:
    place = os if forgotten == "fsync" else power.disk_module
    with patch.object(place, forgotten, lambda _: None):
        assert power.power_cuts(power.TINY, 1, most=400).losses


def test_storage_faults() -> None:
    tally = storage_faults(power.TINY)
    assert tally.losses == []
    assert tally.counts["faults reported"] > 100


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_folders_and_processes(check: Callable[[Path], None], tmp_path: Path) -> None:
    check(tmp_path)
