"""An exported policy: the reader in the documents, which is NumPy alone, chooses what the agent predicts."""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
import xxhash

from engram import D3QN, MFEC, NEC, Agent
from engram.cli import main
from engram.encoders.identity import Identity
from engram.errors import InvalidInputError
from tests.agents.test_loading import Late


class Half(Identity):
    """An encoder of one's own."""


DOCUMENT = Path(__file__).parents[2] / "docs" / "runs.md"


@pytest.fixture(scope="module")
def reader() -> SimpleNamespace:
    """What the document's block with `def act` defines; it must be short."""
    blocks = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    (code,) = [block for block in blocks if "def act(" in block]
    lines = [line for line in code.splitlines() if line.strip() and not line.startswith("#")]
    assert len(lines) <= 30
    names: dict[str, Any] = {}
    exec(code, names)
    return SimpleNamespace(**{name: names[name] for name in ("tie", "act")})


def seen_in(agent: Agent, env: gymnasium.Env[Any, Any]) -> Any:
    """Observations of random games, from whose starts on ties are common in rooms."""
    seen = []
    for game in range(8):
        observation, _ = env.reset(seed=game)
        env.action_space.seed(game)
        for _ in range(20):
            seen.append(observation)
            observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                break
    return np.array(seen)


NETWORK: dict[str, Any] = {"learning_start_steps": 50, "batch_size": 8}
AGENTS: dict[str, Callable[[], Agent]] = {
    "mfec": lambda: MFEC("CartPole-v1", capacity=30, strategy="dkm"),
    "rooms": lambda: MFEC("engram/OpenRoom-v0", capacity=10, seed=4),
    "first": lambda: MFEC("engram/OpenRoom-v0", capacity=10, ties="first"),
    "scaled": lambda: MFEC("Acrobot-v1", capacity=30, encoder="scaled:steps=100", kernel="mean"),
    "late": lambda: NEC(Late, capacity=30, **NETWORK),
    "d3qn": lambda: D3QN("CartPole-v1", encoder="scaled:steps=60", **NETWORK),
    "single": lambda: D3QN("engram/FourRoom-v0", dueling=False, **NETWORK),
}


@pytest.mark.parametrize("kind", AGENTS)
def test_the_reader_chooses_what_the_agent_predicts(kind: str, reader: SimpleNamespace, tmp_path: Path) -> None:
    agent = AGENTS[kind]().learn(400)
    agent.export_policy(tmp_path / "policy.npz")
    policy = dict(np.load(tmp_path / "policy.npz"))
    env = Late() if kind == "late" else gymnasium.make(str(agent.source.name))
    seen = seen_in(agent, env)
    actions = [int(reader.act(policy, observation)) for observation in seen]
    assert actions == agent.predict(seen)[0].tolist()
    assert len(set(actions)) > 1 or kind == "first"
    q = agent.q_values(seen)
    if kind in ("rooms", "first"):
        assert ((q == q.max(axis=1, keepdims=True)).sum(axis=1) > 1).any()  # or ties would not be tested


def test_the_readers_hash_is_xxh64(reader: SimpleNamespace) -> None:
    rng = np.random.default_rng(0)
    for size in (0, 4, 8, 12, 28, 32, 36, 64, 100):
        for seed in (0, 1, 2**63 - 1):
            data = rng.bytes(size)
            assert reader.tie(data, seed) == xxhash.xxh64_intdigest(data, seed)


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (lambda: MFEC("engram/OpenRoom-v0", encoder="scaled:steps=999", capacity=5), "has not seen enough yet"),
        (lambda: MFEC("CartPole-v1", encoder=Half(), capacity=5), "encoders identity and scaled"),
    ],
)
def test_what_the_reader_could_not_read_is_not_written(agent: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=rf"{message}.*for_prediction=True"):
        agent().export_policy(tmp_path / "policy.npz")
    assert not list(tmp_path.iterdir())


def test_the_commands_write_a_policy_and_a_memory_and_read_the_memory_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        main(
            [
                "train",
                "mfec",
                "--steps",
                "200",
                "--capacity",
                "20",
                "--strategy",
                "rew",
                "--no-progress",
                "--out",
                "run",
            ]
        )
        == 0
    )
    assert main(["export", "run", "policy.npz", "--policy"]) == 0
    assert main(["export", "run", "memory.npz"]) == 0
    assert (tmp_path / "policy.npz").stat().st_size < 10_000
    with np.load("memory.npz") as file:
        arrays = {name: file[name] for name in file.files}
    arrays["values"] = np.zeros_like(arrays["values"])
    if "ranks" in arrays:
        arrays["ranks"] = np.zeros_like(arrays["ranks"])
    np.savez("zeros.npz", **arrays)
    assert main(["import", "run", "zeros.npz", "--out", "zeros.safetensors"]) == 0
    assert not MFEC.load("zeros.safetensors").q_values(np.ones((3, 4))).any()
    assert main(["import", "run", "memory.npz", "--out", "same.safetensors"]) == 0
    assert (tmp_path / "same.safetensors").read_bytes() == (tmp_path / "run" / "model.safetensors").read_bytes()
    capsys.readouterr()
    for words, message in (
        ("export run memory.txt", "must be called .npz"),
        ("export gone other.npz", "there is no model file at gone"),
        ("import run run/config.json --out x.safetensors", "no NumPy archive"),
        ("import run policy.npz --out x.safetensors", "not the arrays of a memory"),
        ("import run memory.npz --out x.npz", "must be called .safetensors"),
    ):
        assert main(words.split()) == 2
        assert message in " ".join(capsys.readouterr().err.split())
