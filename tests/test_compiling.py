"""Kernels are never older than the sources that they were made of, and never another user's."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import engram.compiling
from engram.compiling import PACKAGE, _files_of, _units_for, cache_folder, own_folder, source_digest

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


@pytest.mark.slow
def test_a_kernel_is_kept_and_compiled_again_when_a_source_changes_that_it_may_depend_on(installed: Path) -> None:
    bucket, hits = run(WRITE, installed)
    assert hits == "0"
    assert run(WRITE, installed) == [bucket, "1"]
    for place, kept in (("checks.py", "0"), ("memory/strategies/lru.py", "0"), ("training/loop.py", "1")):
        changed = installed / "engram" / place
        changed.write_text(changed.read_text() + "# a change elsewhere\n")
        assert run(WRITE, installed) == [bucket, kept]


def test_every_kernel_depends_on_the_kernels_that_it_calls() -> None:
    """What a kernel's module imports of Engram, and what that imports, was found by Python too."""
    for name in ("memory.read", "memory.write", "agents.learners.keys_compiled", "encoders.dct"):
        file = PACKAGE / f"{name.replace('.', '/')}.py"
        imported = run(
            f"import sys, engram.{name}; print(*(m for m in sys.modules if m.startswith('engram.')))", PACKAGE.parent
        )
        covered = {source for unit in _units_for(file, PACKAGE) for source in _files_of(unit)}
        kernels = {place for module in imported if "@compiled" in (place := module_file(module)).read_text()}
        needed = {place for place in kernels if place.parts[-2] in ("memory", "strategies")}
        assert needed <= covered


def module_file(module: str) -> Path:
    """The file of a module of Engram."""
    place = PACKAGE.joinpath(*module.split(".")[1:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def test_kernels_follow_numbas_own_setting(installed: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "kernels"
    run(WRITE, installed, NUMBA_CACHE_DIR=str(elsewhere))
    assert list(elsewhere.rglob("*.nbi"))
    assert not list((installed / "engram").rglob("*.nbi"))
    assert run(WRITE, installed, NUMBA_CACHE_DIR=str(elsewhere))[1] == "1"


USE = (
    WRITE
    + """
print(hash_index.home._cache.__class__.__name__)
"""
)


@pytest.mark.slow
def test_kernels_of_one_state_of_the_sources_never_serve_another(installed: Path, tmp_path: Path) -> None:
    """Two states of the sources that share a folder for kernels, as two users of one installation may."""
    kernels = tmp_path / "kernels"
    other = tmp_path / "other"
    shutil.copytree(installed / "engram", other / "engram")
    hashes = other / "engram" / "memory" / "hash_index.py"
    hashes.write_text(hashes.read_text().replace("def home(", "# another state\ndef home("))
    for root in (installed, other):
        assert run(WRITE, root, NUMBA_CACHE_DIR=str(kernels))[1] == "0"
        assert run(WRITE, root, NUMBA_CACHE_DIR=str(kernels))[1] == "1"
    assert len(list((kernels / "engram").iterdir())) == 2


@pytest.fixture
def fresh() -> Iterator[None]:
    """Nothing is remembered of the folders that other tests used."""
    own_folder.cache_clear()
    yield
    own_folder.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_a_package_of_another_user_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = engram.compiling.is_users_own
    monkeypatch.setattr(engram.compiling, "is_users_own", lambda folder: folder != PACKAGE and real(folder))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert cache_folder.__wrapped__() == tmp_path / ".cache" / "engram" / source_digest()[:16]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert cache_folder.__wrapped__() == tmp_path / "elsewhere" / "engram" / source_digest()[:16]


@pytest.mark.usefixtures("fresh")
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")
def test_a_folder_that_others_own_or_can_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir(mode=0o700)
    assert own_folder(tmp_path / "mine") == tmp_path / "mine"
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert own_folder(tmp_path / "open") is None
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert own_folder(tmp_path) is None
    (tmp_path / "a file").touch()
    assert own_folder(tmp_path / "a file" / "kernels") is None


@pytest.mark.usefixtures("fresh")
def test_without_a_home_nothing_is_kept_and_everything_works(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(engram.compiling, "is_users_own", lambda folder: False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert cache_folder.__wrapped__() is None


@pytest.mark.skipif(sys.platform == "win32", reason="permissions")
def test_a_folder_of_kernels_that_others_can_write_to_is_passed_over(installed: Path, tmp_path: Path) -> None:
    """What lies there may be anyone's machine code."""
    kernels, home = installed / "engram" / "memory" / "__pycache__", str(tmp_path / "home")
    bucket, hits, kind = run(USE, installed, HOME=home)
    assert (hits, kind) == ("0", "KernelCache")
    kernels.chmod(0o777)
    assert run(USE, installed, HOME=home) == [bucket, "0", "NullCache"]
    kernels.chmod(0o755)
    (installed / "engram").chmod(0o777)
    assert run(USE, installed, HOME=home, XDG_CACHE_HOME="") == [bucket, "0", "KernelCache"]
    assert list(Path(home).rglob("*.nbi"))


NOWHERE = "/proc/nowhere"  # where nobody can make a folder, not even root


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": NOWHERE, "XDG_CACHE_HOME": "", "NUMBA_CACHE_DIR": "", "TMPDIR": NOWHERE},
        {"HOME": NOWHERE, "XDG_CACHE_HOME": NOWHERE, "NUMBA_CACHE_DIR": "", "TMPDIR": NOWHERE},
        {"HOME": NOWHERE, "XDG_CACHE_HOME": "", "NUMBA_CACHE_DIR": NOWHERE, "TMPDIR": NOWHERE},
    ],
)
def test_a_package_that_cannot_be_written_to_without_a_home(environment: dict[str, str], installed: Path) -> None:
    (installed / "engram").chmod(0o777)  # not trusted, whoever runs the test
    bucket, hits, kind = run(USE, installed, **environment)
    assert (hits, kind) == ("0", "NullCache")
    assert bucket == run(WRITE, installed)[0]
    assert run("import engram; engram.MFEC; print(1)", installed, **environment) == ["1"]
