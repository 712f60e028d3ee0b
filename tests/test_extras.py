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


@pytest.mark.parametrize(
    ("module", "extra", "words"),
    [
        ("torch", "torch", ["train", "d3qn", "--env", "engram/Pong-v0"]),
        ("torch", "torch", ["train", "nec", "--device", "cuda"]),
        ("polars", "report", ["report", "."]),
        ("matplotlib", "report", ["report", "."]),
        ("scipy", "report", ["claims", "."]),
        ("PIL", "video", ["eval", ".", "--video", "film.gif"]),
        ("ray", "ray", ["study", "cartpole", "--ray", "local"]),
        ("optuna", "tune", ["tune", "mfec", "--space", "capacity=5,10"]),
        ("ale_py", "atari", ["train", "mfec", "--env", "engram/Pong-v0"]),
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
