"""Kernels are never older than the sources that they were made of."""

import os
from pathlib import Path

from engram.compiling import clear_stale


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
