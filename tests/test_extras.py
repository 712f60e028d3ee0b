"""The core without its extras."""

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # as if it were not installed
import engram
from engram.errors import MissingExtraError
agent = engram.MFEC("CartPole-v1", capacity=20).learn(100)
assert agent.memory.read([[0, 0, 0, 0]]).shape == (1, 2)
for kind in (engram.NEC, engram.D3QN):
    agent = kind("CartPole-v1", learning_start_steps=50, batch_size=4, device="auto").learn(100)
    assert agent.q_values([[0, 0, 0, 0]]).shape == (1, 2)
    for given in ({"env": "engram/Pong-v0"}, {"env": "CartPole-v1", "device": "cuda"}):
        try:
            kind(**given)
        except MissingExtraError as error:
            assert 'pip install "engram-rl[torch]"' in str(error)
        else:
            raise SystemExit(f"{given} came without torch")
"""


def test_without_torch_vectors_work_and_images_and_gpus_name_the_extra() -> None:
    result = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


WITHOUT_EXTRAS = """
import sys
for name in ("torch", "ale_py", "polars", "matplotlib", "scipy", "sklearn", "PIL", "ray"):
    sys.modules[name] = None
from importlib import import_module
import gymnasium
from engram import D3QN, MFEC, NEC, EpisodicMemory
from engram.errors import MissingExtraError
from engram.training.environment import render
class Unseen:
    def render(self):
        raise gymnasium.error.DependencyNotInstalled('pip install "engram-rl[pygame]"')
needing = {
    "torch": [
        lambda: MFEC("CartPole-v1", device="cuda"),
        lambda: EpisodicMemory(actions=2, key_size=4, capacity=5, device="cuda"),
        lambda: NEC("CartPole-v1", network="convolutional"),
    ],
    "atari": [lambda: MFEC("pong"), lambda: D3QN("engram/Pong-v0")],
    "report": [
        lambda: import_module("engram.lab.reports"),
        lambda: import_module("engram.lab.results"),
        lambda: import_module("engram.lab.statistics"),
        lambda: import_module("engram.paper.stream.analysis"),
    ],
    "video": [lambda: import_module("engram.pictures.video")],
    "ray": [lambda: import_module("engram.lab.cluster")],
    "pygame": [lambda: render(Unseen())],
}
for extra, calls in needing.items():
    for number, call in enumerate(calls):
        try:
            call()
        except MissingExtraError as error:
            assert f'pip install "engram-rl[{extra}]"' in str(error), error
        else:
            raise SystemExit(f"{extra}, {number} came without it")
"""


def test_in_python_every_extra_that_is_missing_is_named() -> None:
    result = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "extra", "words"),
    [
        ("torch", "torch", ["train", "d3qn", "--env", "engram/Pong-v0"]),
        ("torch", "torch", ["train", "nec", "--device", "cuda"]),
        ("polars", "report", ["report", "."]),
        ("matplotlib", "report", ["report", "."]),
        ("scipy", "report", ["claims", "."]),
        ("matplotlib", "report", ["site", "."]),
        ("PIL", "video", ["eval", ".", "--video", "film.gif"]),
        ("ray", "ray", ["study", "cartpole", "--ray", "local"]),
        ("optuna", "tune", ["tune", "mfec", "--space", "capacity=5,10"]),
        ("ale_py", "atari", ["train", "mfec", "--env", "engram/Pong-v0"]),
        ("ale_py", "atari", ["train", "mfec", "--env", "pong"]),
        ("ale_py", "atari", ["train", "mfec", "--env", "ALE/Pong-v5"]),
        ("faiss", "bench", ["bench", "--only", "reading"]),
        ("ale_py", "atari", ["bench", "--only", "playing"]),
    ],
)
def test_every_extra_that_is_missing_is_named_with_the_command(
    module: str, extra: str, words: list[str], tmp_path: Path
) -> None:
    program = f"import sys; sys.modules[{module!r}] = None; from engram.cli import main; sys.exit(main({words!r}))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert f'pip install "engram-rl[{extra}]"' in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("polars", ["report", "."]),
        ("torch", ["train", "nec", "--device", "cuda"]),
        ("PIL", ["eval", ".", "--video", "x.gif"]),
    ],
)
@pytest.mark.parametrize("error", ["OSError", "ImportError"])
def test_an_extra_that_is_there_but_broken_is_named(module: str, words: list[str], error: str, tmp_path: Path) -> None:
    (tmp_path / module).mkdir()
    (tmp_path / module / "__init__.py").write_text(f"raise {error}('libgone.so: cannot open shared object file')")
    program = f"import sys; sys.path.insert(0, '.'); from engram.cli import main; sys.exit(main({words!r}))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert f"{module} is installed, but cannot be imported (libgone.so" in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
