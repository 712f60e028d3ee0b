"""Is one state of the sources slower than another? `python -m tools.compare_speed OLD_SRC NEW_SRC`.

Both are measured in turn, round by round, each time in a fresh process with one thread, so that whatever else the
machine does falls on both. Speeds are by CPU time, the best of three pieces of work. A ratio is the median over rounds
of new speed over old speed; below 0.95 is worth a look.
"""

import json
import os
import subprocess
import sys
from statistics import median

ROUNDS = 9
WORK = """
import json, sys, time
import numpy as np
import engram
from engram import MFEC, NEC, D3QN, EpisodicMemory
ENDED = {"epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 1, "seed": 1}
def best(work, count):
    speeds = []
    for _ in range(3):
        begin = time.process_time()
        work()
        speeds.append(count / (time.process_time() - begin))
    return max(speeds)
def training(kind, steps, **settings):
    agent = kind("CartPole-v1", **ENDED, **settings).learn(2500)
    return best(lambda: agent.learn(steps), steps)
def memory(actions, capacity, dims, strategy):
    made = EpisodicMemory(actions=actions, key_size=dims, capacity=capacity, strategy=strategy)
    rng = np.random.default_rng(0)
    for action in range(actions):
        made.write(action, rng.standard_normal((capacity, dims), np.float32), rng.standard_normal(capacity))
    return made, rng
def reading(actions, capacity, dims, count):
    made, rng = memory(actions, capacity, dims, "lru")
    queries = rng.standard_normal((count, 1, dims), np.float32)
    return best(lambda: [made.read(query, touch=True) for query in queries], count)
def writing(strategy):
    made, rng = memory(1, 500, 4, strategy)
    episodes = [(rng.standard_normal((50, 4), np.float32), rng.standard_normal(50)) for _ in range(100)]
    return best(lambda: [made.write(0, keys, values) for keys, values in episodes], len(episodes))
found = {f"mfec {name} 500": training(MFEC, 4000, strategy=name, capacity=500) for name in ("lru", "dkm", "sur")}
found["mfec lru 5000"] = training(MFEC, 4000, strategy="lru", capacity=5000)
found["nec lru 500"] = training(NEC, 800, strategy="lru", capacity=500)
found["d3qn"] = training(D3QN, 1000, learning_start_steps=1000)
found["read 2 x 500 x 4"] = reading(2, 500, 4, 2000)
found["read 6 x 10000 x 128"] = reading(6, 10000, 128, 300)
found |= {f"write {strategy}": writing(strategy) for strategy in ("lru", "kmeans", "dkm", "fading")}
print(json.dumps(found))
"""


def measure(source: str) -> dict[str, float]:
    """Speeds of one state of the sources, in steps or calls per second."""
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", WORK], env=environment, capture_output=True, text=True, check=True)
    speeds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return speeds


def main() -> None:
    """Measure both, round by round."""
    old, new = sys.argv[1:3]
    measure(old), measure(new)  # compiles what is not compiled yet
    rounds = [(measure(old), measure(new)) for _ in range(ROUNDS)]
    for name in rounds[0][0]:
        ratios = [after[name] / before[name] for before, after in rounds]
        speed = median(after[name] for _, after in rounds)
        print(f"{name:24} {speed:10,.0f}/s  {median(ratios):5.2f} of before ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
