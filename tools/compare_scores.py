"""Do agents learn as well in one state of the sources as in another? `python -m tools.compare_scores OLD_SRC NEW_SRC`.

NEC and D3QN are trained in CartPole and in the open room with ten seeds on both sides, or with `--seeds N`, and all of
them or the case of `--only NAME`. A score is the mean
over the last five evaluations of ten episodes each, 1,000 steps apart. Printed are means and standard deviations over
seeds, and the difference of the means with Welch's 95 % interval. For changes that change bits, and should change
nothing else.
"""

import argparse
import json
import os
import subprocess
import sys

import numpy as np
from scipy import stats

CASES = {
    "nec lru 500": ("NEC", "CartPole-v1", {"capacity": 500}, 15_000),
    "nec kmeans 500, learning fast": (
        "NEC",
        "CartPole-v1",
        {"capacity": 500, "strategy": "kmeans", "learning_rate": 1e-4},
        15_000,
    ),
    "nec lru 100, open room": ("NEC", "engram/OpenRoom-v0", {"capacity": 100}, 15_000),
    "d3qn": ("D3QN", "CartPole-v1", {}, 30_000),
    "d3qn, open room": ("D3QN", "engram/OpenRoom-v0", {}, 30_000),
}
WORK = """
import json, sys
import numpy as np
import engram
name, env, settings, steps, seed = json.loads(sys.argv[1])
sooner = {"epsilon_anneal_start_steps": 1000, "epsilon_anneal_end_steps": steps // 2}
agent = getattr(engram, name)(env, seed=seed, **sooner, **settings).learn(steps - 4000)
scores = [engram.evaluate_policy(agent, env, 10)[0]]
for _ in range(4):
    scores.append(engram.evaluate_policy(agent.learn(1000), env, 10)[0])
print(json.dumps(float(np.mean(scores))))
"""


def score(source: str, case: tuple[object, ...], seed: int) -> float:
    """The score of one agent, trained in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-c", WORK, json.dumps([*case, seed])]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Compare both, case by case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", choices=list(CASES))
    given = parser.parse_args()
    for name, case in CASES.items():
        if given.only not in (None, name):
            continue
        seeds = range(given.seeds)
        before, after = (np.array([score(source, case, seed) for seed in seeds]) for source in (given.old, given.new))
        interval = stats.ttest_ind(after, before, equal_var=False).confidence_interval()
        print(
            f"{name:32} {before.mean():7.1f} ± {before.std(ddof=1):5.1f} before, {after.mean():7.1f} ± "
            f"{after.std(ddof=1):5.1f} now; difference {interval.low:+.1f} to {interval.high:+.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
