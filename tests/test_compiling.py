"""Kernels are never older than the sources that they were made of."""

import os
import subprocess
import sys
from pathlib import Path

import engram.compiling
from engram.compiling import clear_stale, stamp_of


def test_a_change_in_any_source_clears_all_kernels(tmp_path: Path) -> None:
    cache = tmp_path / "memory" / "__pycache__"
    cache.mkdir(parents=True)
    source = tmp_path / "strategies.py"
    source.write_text("a = 1")
    kernels = [cache / f"write.{suffix}" for suffix in ("nbi", "1.nbc")]

    def keep() -> None:
        for kernel in kernels:
            kernel.touch()

    keep()
    assert clear_stale(tmp_path)
    assert not any(kernel.exists() for kernel in kernels)
    keep()
    assert not clear_stale(tmp_path)
    assert all(kernel.exists() for kernel in kernels)
    os.utime(source, ns=(1, 1))
    assert clear_stale(tmp_path)
    assert not any(kernel.exists() for kernel in kernels)


def test_kernels_kept_elsewhere_have_a_folder_for_each_state_of_the_sources(tmp_path: Path) -> None:
    """numba would take an old one for a new one there."""
    code = "import engram.compiling, numba; print(numba.config.CACHE_DIR)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    shown = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    chosen = Path(shown.stdout.strip())
    assert chosen.parent == tmp_path
    assert chosen.name == stamp_of(Path(engram.compiling.__file__).parent)[:16]
