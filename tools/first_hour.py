"""How long a new user waits: `python -m tools.first_hour OUT.json [SOURCE]`.

Installs the core of a source tree (by default this one) into a new environment, and measures there the time from the
command to the first training step and to the end of a run of 300, three times one after the other, and the CPU time of
the help pages. Run it on an idle
machine: the first times are by the clock.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from engram.runs.versions import machine

ROOT = Path(__file__).parents[1]
STEP = """
import sys, time
from engram.cli import main
from engram.runs.folder import RunFolder
begin, record = float(sys.argv[1]), RunFolder.record
def timed(self, run, agent, *args, **kwargs):
    observe, told = agent.observe, []
    def first(*given):
        observe(*given)
        if not told:
            told.append(print("FIRST STEP AFTER", time.time() - begin, flush=True))
    agent.observe = first
    return record(self, run, agent, *args, **kwargs)
RunFolder.record = timed
sys.exit(main(sys.argv[2:]))
"""


def cpu_of_children() -> float:
    """CPU seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(words: list[str], folder: Path) -> tuple[str, float, float]:
    """Run a program; what it printed, and its seconds by the clock and of CPU."""
    plain = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}
    began, before = time.perf_counter(), cpu_of_children()
    done = subprocess.run(words, cwd=folder, env=plain, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr, time.perf_counter() - began, cpu_of_children() - before


def short_run(python: Path, agent: str, folder: Path, number: int) -> tuple[float, float]:
    """Seconds from the start of `engram train` to the end of its first step, and to its own end."""
    words = ["train", agent, "--env", "CartPole-v1", "--steps", "300", "--out", f"{agent}-{number}", "--no-progress"]
    told, whole, _ = run([str(python), "-c", STEP, str(time.time()), *words], folder)
    found = re.search(r"FIRST STEP AFTER ([\d.]+)", told)
    if found is None:
        raise SystemExit(f"no step was taken:\n{told}")
    return round(float(found[1]), 2), round(whole, 2)


def main() -> None:
    """Measure, and write what was found."""
    out, source = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else str(ROOT)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-m", "venv", "new"], folder)
        python = folder / "new" / "bin" / "python"
        constraints = str(ROOT / "constraints.txt")
        run([str(python), "-m", "pip", "install", "--quiet", "--constraint", constraints, source], folder)
        found: dict[str, Any] = {"machine": machine(), "first_step_s": {}, "run_of_300_steps_s": {}, "help_cpu_s": {}}
        for agent in ("mfec", "nec", "d3qn"):
            runs = [short_run(python, agent, folder, number) for number in range(3)]
            found["first_step_s"][agent], found["run_of_300_steps_s"][agent] = map(list, zip(*runs, strict=True))
        for words in (["--help"], ["train", "mfec", "--help"], ["train", "nec", "--help"]):
            cpu = [run([str(folder / "new" / "bin" / "engram"), *words], folder)[2] for _ in range(5)]
            found["help_cpu_s"][" ".join(words)] = round(min(cpu), 2)
    out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
