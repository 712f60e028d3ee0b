"""What this computer has: its free memory."""

import os
from pathlib import Path

MEMORY_INFO = Path("/proc/meminfo")


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
