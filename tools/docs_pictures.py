"""The pictures of docs/inspect.md, from runs that are carried out for them: `python -m tools.docs_pictures`.

A run that is finished is taken as it is, so that changing a picture takes seconds.
"""

import shutil
from pathlib import Path

from engram.cli import main

DOCS, RUNS = Path("docs"), Path("runs/docs-pictures")
CART = "train mfec --env CartPole-v1 --strategy dkm --capacity 150 --steps 15000 --seed 1"
ROOM = "train mfec --env engram/OpenRoom-v0 --strategy rew --capacity 50 --steps 20000"
PACMAN = (
    "train mfec --preset atari --env ms_pacman --capacity 500 --steps 4000 --evaluation-interval-steps 50000 "
    "--evaluation-episodes 1"
)
COPIED = {  # from the folder of a run → docs/
    "cart/memory/figures/entries.png": "inspect-entries.png",
    "cart/memory/figures/policy.png": "inspect-policy.png",
    "room/memory/figures/policy.png": "inspect-room.png",
    "pacman/memory/figures/frames.png": "inspect-frames.png",
    "cart.gif": "inspect-film.gif",
    "room.gif": "explain.gif",
}


def run(words: str) -> None:
    """Carry out a command; stop if it fails."""
    print(f"engram {words}", flush=True)
    if code := main(words.split()):
        raise SystemExit(code)


def make() -> None:
    """Carry out the runs, and copy what the page shows."""
    for name, words in (("cart", CART), ("room", ROOM), ("pacman", PACMAN)):
        run(f"{words} --trace --out {RUNS / name}")
        run(f"inspect {RUNS / name}" + (f" --film {RUNS / name}.gif" if name == "cart" else ""))
    run(f"eval {RUNS / 'room'} --episodes 1 --video {RUNS / 'room.gif'} --explain")
    for source, target in COPIED.items():
        shutil.copyfile(RUNS / source, DOCS / target)
        print(f"docs/{target}: {(DOCS / target).stat().st_size // 1000:,} kB")


if __name__ == "__main__":
    make()
