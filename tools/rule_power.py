"""How often is each claim's rule right? `python -m tools.rule_power`.

Runs are drawn from the worlds of `tools/worlds.py`, and the rules applied to them, at the numbers of seeds that the
studies run and at others. What comes out is shipped with the claims (`src/engram/paper/rule_power.json`), with a
digest of the rules, and is the table of `results/power/README.md`. `--claims 2 18` does those again.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np

from engram.agents import label_of
from engram.files.disk import write_atomically
from engram.lab.verdicts import FAILS, HOLDS, Chance, Claim
from engram.paper.claims import CLAIMS
from engram.paper.rule_power import FILE, read_digest, read_power, rules_digest
from tools.worlds import draw_evidence

WORLDS = ("paper", "alike", "exchanged")
DRAWS = 200
CLASSIC_SEEDS = ((5, 5), (20, 5), (20, 10))  # of MFEC and NEC
ATARI_SEEDS = (3, 5)
STREAM_SEEDS = {14: (5, 20), 17: (5, 11)}
ONLY = {1: "nec", 2: "nec", 3: "mfec", 18: "nec"}  # claims about one agent
README = Path(__file__).parents[1] / "results" / "power" / "README.md"


def designs(claim: Claim) -> list[dict[str, int]]:
    """The numbers of seeds, by agent, with which a claim's rule is tried."""
    if claim.number in STREAM_SEEDS:
        return [{"stream": count} for count in STREAM_SEEDS[claim.number]]
    if claim.studies == ("atari",):
        agents = ("mfec", "nec", "d3qn") if claim.number == 13 else ("mfec", "nec")
        return [dict.fromkeys(agents, count) for count in ATARI_SEEDS]
    both = [dict(zip(("mfec", "nec"), counts, strict=True)) for counts in CLASSIC_SEEDS]
    if claim.number in ONLY:
        agent = ONLY[claim.number]
        return [{agent: count} for count in sorted({seeds[agent] for seeds in both})]
    return both


def chance(claim: Claim, world: str, seeds: Mapping[str, int], draws: int) -> Chance:
    """How often the rule comes to each word in a world."""
    plain = replace(claim, power=())
    words = []
    for number in range(draws):
        rng = np.random.default_rng((claim.number, WORLDS.index(world), *seeds.values(), number))
        words.append(plain.decide(draw_evidence(claim.number, world, seeds, rng)).word)
    return Chance(world, dict(seeds), draws, words.count(HOLDS), words.count(FAILS))


def _chance(draws: int, case: tuple[int, str, Mapping[str, int]]) -> Chance:
    number, world, seeds = case
    return chance(next(claim for claim in CLAIMS.claims if claim.number == number), world, seeds, draws)


def main() -> None:
    """Simulate all claims, or some."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--claims", type=int, nargs="+")
    given = parser.parse_args()
    claims = [claim for claim in CLAIMS.claims if given.claims is None or claim.number in given.claims]
    found: dict[int, tuple[Chance, ...]] = {}
    cases = [(claim.number, world, seeds) for claim in claims for seeds in designs(claim) for world in WORLDS]
    with ProcessPoolExecutor() as pool:
        for (number, world, seeds), one in zip(cases, pool.map(partial(_chance, given.draws), cases), strict=True):
            found[number] = (*found.get(number, ()), one)
            print(number, world, seeds, f"holds {one.holds}, fails {one.fails} of {one.draws}", flush=True)
    if given.claims is not None:
        if read_digest() != rules_digest():
            parser.exit(1, "the rules have changed since the others were simulated; do all of them again\n")
        found = {**read_power(), **found}
    rows = [{"claim": claim.number, **asdict(one)} for claim in CLAIMS.claims for one in found[claim.number]]
    text = ",\n".join(json.dumps(row) for row in rows)
    write_atomically(FILE, f'{{"rules": "{rules_digest()}",\n"chances": [\n{text}\n]}}\n'.encode())
    README.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(README, _page(CLAIMS.claims, found, given.draws).encode())


def _page(claims: Sequence[Claim], found: Mapping[int, Sequence[Chance]], draws: int) -> str:
    lines = [
        "# How often the rules are right",
        "",
        "Each rule by which a claim of the paper is decided was applied to runs drawn from three worlds, "
        f"{draws} times each, by `python -m tools.rule_power` (`tools/worlds.py` has the worlds):",
        "",
        "- *paper*: every cell has the mean and the deviation that the paper prints. Where it prints none (rooms, "
        "stream, learning curves, costs), the numbers are ours, made so that its sentence is true. Here a claim should "
        "hold, at least 8 times in 10, and be called false once in 20 at most.",
        "- *alike*: what the claim sets apart is alike; each run is drawn from one of the cells at random. Here it "
        "should hold once in 20 at most.",
        "- *exchanged*: the strategy that is said to win has the scores of another, and that one its scores. Here it "
        "should hold once in 20 at most.",
        "",
        "Seeds are runs per cell. Off Atari, 20 of MFEC and 10 of NEC are enough for every rule. Where a true claim "
        "holds less than 8 times in 10 (†), the seeds are too few: an open verdict is then *cannot be "
        "decided*. How well the intervals cover: [coverage](coverage.md).",
        "",
        "| claim | seeds | paper: holds | paper: does not hold | alike: holds | exchanged: holds |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for claim in claims:
        by_seeds: dict[str, dict[str, Chance]] = {}
        for one in found[claim.number]:
            by_seeds.setdefault(_seeds(one.seeds), {})[one.world] = one
        for number, (seeds, worlds) in enumerate(by_seeds.items()):
            paper, alike, exchanged = (worlds[name] for name in WORLDS)
            shares = [paper.share, paper.fails / draws, alike.share, exchanged.share]
            mark = "" if paper.share >= 0.8 else " †"
            texts = [f"{shares[0]:.1%}{mark}", *(f"{share:.1%}" for share in shares[1:])]
            name = f"{claim.number}. {claim.text}" if number == 0 else ""
            lines.append(f"| {name} | {seeds} | {' | '.join(texts)} |")
    return "\n".join(lines) + "\n"


def _seeds(seeds: Mapping[str, int]) -> str:
    counts = set(seeds.values())
    if len(counts) == 1:
        return str(counts.pop())
    return ", ".join(f"{label_of(agent)} {count}" for agent, count in seeds.items())


if __name__ == "__main__":
    main()
