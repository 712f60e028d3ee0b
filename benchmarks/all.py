"""Every ratio of this folder in one page: `python benchmarks/all.py` writes results/speed/README.md."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import platform
from pathlib import Path

import atari
import checkpoint
import read
import train

PAGE = Path(__file__).parents[1] / "results" / "speed" / "README.md"
HEAD = """# Speed

Made by `python benchmarks/all.py` on one core of a shared machine: the ratios carry over, the times do not. Each ratio
is taken within one run.
"""


def main() -> None:
    lines = [HEAD, f"{platform.platform()}, Python {platform.python_version()}", "", "## Reading all tables", ""]
    lines += [
        "One query in all tables, against one FAISS flat search per table.",
        "",
        "| actions, entries, dims, k | FAISS µs | Engram µs | times faster |",
        "|---|---|---|---|",
    ]
    for row in read.main(seed=0):
        setting = ", ".join(map(str, row.setting))
        lines.append(f"| {setting} | {row.faiss_us:.1f} | {row.engram_us:.1f} | {row.faiss_us / row.engram_us:.2f} |")
    lines += [
        "",
        "## Training on CartPole",
        "",
        "At the final ε, on full tables, without evaluation; beside the bare environment and Stable-Baselines3's DQN",
        "with the same batch size, train frequency and network width.",
        "",
        "| agent | steps/s | of the bare environment | times SB3's DQN |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row.name} | {row.steps_per_second:,.0f} | {row.share_of_bare:.3f} | {row.times_sb3:.1f} |"
        for row in train.main()
    ]
    figures = atari.main()
    lines += [
        "",
        "## MFEC on Pong",
        "",
        "On full tables of keys of real play, at the final ε; beside the emulator with all preprocessing, and beside",
        "the same agent that reads by one FAISS flat search per table.",
        "",
        "| | steps/s | of the emulator | times the agent on FAISS |",
        "|---|---|---|---|",
    ]
    for each in figures.rows:
        peer = "" if each.times_faiss is None else f"{each.times_faiss:.2f}"
        lines.append(f"| {each.name} | {each.steps_per_second:,.0f} | {each.share:.3f} | {peer} |")
    lines += ["", *(f"- {words[0].upper()}{words[1:]}" for words in atari.in_words(figures))]
    lines += ["", "## Checkpoints", "", "| run | seconds | every … seconds | share |", "|---|---|---|---|"]
    lines += [f"| {row.name} | {row.seconds:.3f} | {row.cadence:.0f} | {row.share:.2%} |" for row in checkpoint.main()]
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
