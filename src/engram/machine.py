"""What this computer has: its free memory."""

import os
from pathlib import Path

from engram.errors import InvalidInputError

MEMORY_INFO = Path("/proc/meminfo")
GIB = 2**30


def available_memory() -> int | None:
    """Bytes of memory that are free to use, or None where the system does not say."""
    if MEMORY_INFO.exists():
        for line in MEMORY_INFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def require_memory(needed: int, what: str, advice: str) -> None:
    """Raise InvalidInputError, naming what would need it and what to do, unless so many bytes are available."""
    available = available_memory()
    if available is not None and needed > available:
        raise InvalidInputError(
            f"{what} needs {needed / GIB:,.1f} GiB of memory, and {available / GIB:.1f} GiB are available; {advice}"
        )
