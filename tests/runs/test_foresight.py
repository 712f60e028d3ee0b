"""What is told of a run before its first step."""

from pathlib import Path

import pytest

from engram import D3QN, MFEC
from engram.cli import main
from engram.runs.foresight import foresight
from engram.runs.run import Run


def test_a_run_that_ends_before_its_encoder_has_settled_is_told_so_once() -> None:
    config = MFEC.Config(encoder="scaled:steps=300")
    runs = [Run(MFEC, env, config, steps=299) for env in ("CartPole-v1", "Acrobot-v1")]
    (words,) = foresight(runs)
    assert "the encoder 'scaled' only observes for the first 300 steps, and a run of 299 ends before" in words
    assert words.endswith("scaled:steps=29")


def test_the_advice_holds() -> None:
    assert not MFEC("CartPole-v1", encoder="scaled:steps=300").learn(299).memory.size.any()
    assert MFEC("CartPole-v1", encoder="scaled:steps=30").learn(300).memory.size.any()


def test_of_other_runs_nothing_is_told() -> None:
    settled = Run(MFEC, "CartPole-v1", MFEC.Config(encoder="scaled:steps=300"), steps=300)
    assert (
        foresight([settled, Run(MFEC, "CartPole-v1", MFEC.Config(), 1), Run(D3QN, "CartPole-v1", D3QN.Config(), 1)])
        == []
    )


def test_training_and_studies_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "mfec", "--encoder", "scaled", "--steps", "100", "--no-progress", "--out", str(tmp_path / "run")]
    assert main(words) == 0
    assert "only observes for the first 1,000 steps" in " ".join(capsys.readouterr().out.split())
    (tmp_path / "s.toml").write_text(
        'agent = "mfec"\nenv = "CartPole-v1"\nsteps = 100\nseeds = 1\nsizes = 20\nsettings = { encoder = "scaled" }\n'
    )
    assert main(["study", str(tmp_path / "s.toml"), "--jobs", "1", "--out", str(tmp_path / "study")]) == 0
    assert " ".join(capsys.readouterr().out.split()).count("only observes for the first 1,000 steps") == 1
