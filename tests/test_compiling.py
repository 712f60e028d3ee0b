"""Kernels are never older than the sources that they were made of, and never another user's."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import engram.compiling
from engram.compiling import PACKAGE, cache_folder, source_digest

WRITE = """
import numpy as np, numba
before = {name: getattr(numba.config, name) for name in dir(numba.config) if name.isupper()}
from engram.memory import hash_index
buckets = np.zeros(8, np.int32)
print(int(hash_index.home(buckets, np.uint64(3))), hash_index.home.stats.cache_hits.total())
assert before == {name: getattr(numba.config, name) for name in before}
"""


def run(code: str, root: Path, **environment: str) -> list[str]:
    """What a fresh process prints that imports Engram from a folder."""
    everything = {**os.environ, "PYTHONPATH": str(root), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=everything, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "engram", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_a_kernel_is_kept_and_compiled_again_when_any_source_changes(installed: Path) -> None:
    bucket, hits = run(WRITE, installed)
    assert hits == "0"
    assert run(WRITE, installed) == [bucket, "1"]
    changed = installed / "engram" / "checks.py"
    changed.write_text(changed.read_text() + "# a change elsewhere\n")
    assert run(WRITE, installed) == [bucket, "0"]


def test_kernels_follow_numbas_own_setting(installed: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "kernels"
    run(WRITE, installed, NUMBA_CACHE_DIR=str(elsewhere))
    assert list(elsewhere.rglob("*.nbi"))
    assert not list((installed / "engram").rglob("*.nbi"))
    assert run(WRITE, installed, NUMBA_CACHE_DIR=str(elsewhere))[1] == "1"


def test_a_package_of_another_user_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engram.compiling, "belongs_to_user", lambda folder: folder != PACKAGE)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert cache_folder.__wrapped__() == tmp_path / ".cache" / "engram" / source_digest()[:16]


def test_without_a_home_nothing_is_kept_and_everything_works(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(engram.compiling, "belongs_to_user", lambda folder: False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert cache_folder.__wrapped__() is None
