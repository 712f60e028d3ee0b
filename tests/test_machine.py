"""The free memory of a computer, from whichever source the system offers."""

import os
from pathlib import Path

import pytest

from engram import machine


def test_linux_says_how_much_memory_is_available(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    info = tmp_path / "meminfo"
    info.write_text("MemTotal: 100 kB\nMemAvailable:    64 kB\n")
    monkeypatch.setattr(machine, "MEMORY_INFO", info)
    assert machine.available_memory() == 65_536


def test_other_systems_count_free_pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "MEMORY_INFO", tmp_path / "none")
    pages = {"SC_AVPHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    assert machine.available_memory() == 40_960


@pytest.mark.parametrize("error", [AttributeError, ValueError, OSError])
def test_a_system_that_does_not_say_gives_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: type[Exception]
) -> None:
    def unknown(name: str) -> int:
        raise error(name)

    monkeypatch.setattr(machine, "MEMORY_INFO", tmp_path / "none")
    monkeypatch.setattr(os, "sysconf", unknown)
    assert machine.available_memory() is None
