"""A memory driven at random through everything that can happen to it, beside the oracle, and checked at every step."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engram import EpisodicMemory
from engram.files.arrays import join, read_arrays, split, write_arrays
from engram.hashing import states_of
from tests.examples import examples
from tests.memory.strategies.test_built_in import ACTIONS, NAMES, assert_same, oracle_tables

DIMS = 2
POINTS = st.lists(st.lists(st.integers(-2, 2), min_size=DIMS, max_size=DIMS), min_size=1, max_size=6)


class MemoryMachine(RuleBasedStateMachine):
    """Reads, writes, saving and loading through a file, and starting over with another strategy or size."""

    @initialize(name=st.sampled_from(NAMES), capacity=st.integers(1, 6), step=st.sampled_from([None, 0.25]))
    def start(self, name: str, capacity: int, step: float | None) -> None:
        self.settings: dict[str, Any] = {
            "actions": ACTIONS,
            "key_size": DIMS,
            "capacity": capacity,
            "strategy": name,
            "neighbours": 3,
            "match": step or "max",
            "exact_read": step is None,
        }
        self.memory = EpisodicMemory(**self.settings)
        self.tables = oracle_tables(self.memory.strategy, capacity, neighbours=3, step=step, exact_read=step is None)
        self.clock = 0

    @rule(action=st.integers(0, ACTIONS - 1), points=POINTS, seed=st.integers(0, 99))
    def write(self, action: int, points: list[list[int]], seed: int) -> None:
        keys = np.array(points, np.float32)
        values = np.random.default_rng(seed).integers(-3, 4, len(keys)).astype(np.float32)
        self.memory.write(action, keys, values)
        for key, value, state in zip(keys, values, states_of(keys).tolist(), strict=True):
            self.clock += 1
            self.tables[action].write(key, value, state, self.clock)

    @rule(points=POINTS, touch=st.booleans())
    def read(self, points: list[list[int]], touch: bool) -> None:
        keys = np.array(points, np.float32)
        expected = [[table.read(key) for table in self.tables] for key in keys]
        np.testing.assert_allclose(self.memory.read(keys, touch=touch), expected, rtol=1e-6, atol=1e-7)
        if touch:
            for key in keys:
                self.clock += self.memory.strategy.touches
                for table in self.tables:
                    table.touch(key, self.clock)

    @rule()
    def save_and_load(self) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "memory.safetensors"
            arrays, plain = split(self.memory.state_dict())
            write_arrays(path, {"plain": plain}, arrays)
            manifest, arrays = read_arrays(path)
        self.memory = EpisodicMemory(**self.settings)
        self.memory.load_state_dict(join(arrays, manifest["plain"]))

    @rule(name=st.sampled_from(NAMES), capacity=st.integers(1, 6))
    def switch(self, name: str, capacity: int) -> None:
        self.start(name, capacity, None)

    @invariant()
    def is_what_the_oracle_says(self) -> None:
        if hasattr(self, "memory"):
            assert_same(self.memory, self.tables)
            self.memory.check_valid()


MemoryMachine.TestCase.settings = examples(60, stateful_step_count=25)
TestMemory = MemoryMachine.TestCase
