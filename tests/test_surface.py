"""What is public, how it is typed and shown, and that Engram leaves the user's process as it found it."""

import subprocess
import sys
from pathlib import Path

import pytest

import engram
from engram import MFEC, EpisodicMemory

RIGHT = """
from engram import D3QN, MFEC, NEC, load
MFEC("CartPole-v1", capacity=5, strategy="dkm", exploration="novelty", seed=1).learn(10)
NEC("CartPole-v1", network="mlp:hidden=32", key_size=8)
D3QN("CartPole-v1", dueling=False)
"""
WRONG = {
    'MFEC("CartPole-v1", capcity=5)': "capcity",
    'MFEC("CartPole-v1", capacity="many")': "capacity",
    'NEC("CartPole-v1", key_sice=8)': "key_sice",
    'D3QN("CartPole-v1", strategy="lru")': "strategy",
    'MFEC("CartPole-v1", kernel="invers")': "kernel",
}
GUEST = """
import os, sys, gymnasium, numpy, numba, torch, warnings, random, signal
def state():
    return (
        torch.get_num_threads(), torch.random.get_rng_state().tolist(), repr(numpy.random.get_state()),
        random.getstate(),
        {name: getattr(numba.config, name) for name in dir(numba.config) if name.isupper()},
        dict(os.environ), os.getcwd(), list(sys.path), warnings.filters[:], signal.getsignal(signal.SIGINT),
        sys.excepthook, numpy.geterr(), torch.get_default_dtype(),
    )
before = state()
import engram
for kind in (engram.MFEC, engram.NEC, engram.D3QN):
    settings = {} if kind is engram.D3QN else {"capacity": 20}
    agent = kind("CartPole-v1", seed=0, **settings).learn(200)
    engram.evaluate_policy(agent, "CartPole-v1", 2)
    agent.save(sys.argv[1])
    engram.load(sys.argv[1]).learn(20)
after = state()
for number, (one, other) in enumerate(zip(before, after, strict=True)):
    assert one == other, f"number {number} of the state has changed"
"""


def test_the_public_names_are_all_there_and_nothing_else_is_shown() -> None:
    assert set(dir(engram)) == {*engram.__all__, "__version__"}
    assert set(engram.__all__) == set(engram._HOMES)
    for name in engram.__all__:
        assert getattr(engram, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'MFEK'"):
        engram.MFEK  # noqa: B018


@pytest.mark.slow
def test_a_misspelt_or_mistyped_setting_is_an_error_for_type_checkers(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    lines = ["from engram import D3QN, MFEC, NEC", *WRONG]
    (tmp_path / "wrong.py").write_text("\n".join(lines) + "\n")
    words = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--follow-imports=silent"]
    checked = subprocess.run(
        [*words, "right.py", "wrong.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "right.py" not in checked.stdout, checked.stdout
    for number, name in enumerate(WRONG.values(), 2):
        assert f"wrong.py:{number}: error" in checked.stdout
        assert name in next(line for line in checked.stdout.splitlines() if f"wrong.py:{number}:" in line)


def test_agents_memories_and_parts_show_what_they_are() -> None:
    agent = MFEC("CartPole-v1", strategy="dkm:decay=0.3", capacity=50, seed=7).learn(10)
    assert repr(agent) == "<MFEC in CartPole-v1: 10 steps, strategy dkm:decay=0.3, seed 7>"
    assert repr(agent.memory.strategy) == "DynamicKMeans(decay=0.3)"
    memory = EpisodicMemory(actions=2, key_size=4, capacity=50, strategy="lru")
    assert repr(memory) == "<EpisodicMemory: 0 of 2 × 50 entries, keys of size 4, strategy lru>"


def test_using_engram_changes_nothing_else_of_the_process(tmp_path: Path) -> None:
    words = [sys.executable, "-c", GUEST, str(tmp_path / "model.safetensors")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "engram", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"engram {engram.__version__}\n"
