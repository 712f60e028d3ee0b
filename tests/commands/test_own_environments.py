"""Environments, options and wrappers of one's own on every command; what is printed works as printed."""

import json
import re
import shlex
from pathlib import Path

import pytest

from engram.cli import main

TRAIN = ["train", "mfec", "--steps", "400", "--capacity", "30", "--no-progress", "--evaluation-episodes", "3"]
TRAIN += ["--evaluation-interval-steps", "200"]
SHORT = ["--epsilon-anneal-start-steps", "1", "--epsilon-anneal-end-steps", "200"]
OWN = "tests.envs.own_envs"


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command says, if all is well."""
    code, told = main(words), capsys.readouterr()
    assert code == 0, told.err
    return told.out


def printed(text: str) -> list[str]:
    """The command that a text ends with, as the shell would take it apart."""
    found = re.search(r"(?:try|command|go on with): engram (.+)$", " ".join(text.split()))
    assert found is not None, text
    return shlex.split(found[1])


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (["--env", f"{OWN}:Walk-v0"], f"{OWN}:Walk-v0"),
        (["--env", f"{OWN}:Walk", "--env-kwargs", "shown=image"], f"{OWN}:Walk?shown=image"),
        (
            [
                "--env",
                f"{OWN}:Walk-v0",
                "--env-kwargs",
                '{"shown": "tuple", "limit": 20}',
                "--wrapper",
                f"{OWN}:Half?by=4",
            ],
            f"{OWN}:Walk-v0?shown=tuple&limit=20|{OWN}:Half?by=4",
        ),
        (
            ["--wrapper", "NormalizeObservation", "--wrapper", "TimeLimit?max_episode_steps=50"],
            "CartPole-v1|NormalizeObservation|TimeLimit?max_episode_steps=50",
        ),
    ],
)
def test_a_run_says_how_to_go_on_and_that_works_as_printed(
    words: list[str], env: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run([*TRAIN, *SHORT, *words, "--out", "my run"], capsys)
    assert json.loads(Path("my run/config.json").read_text())["env"] == env
    score = json.loads(Path("my run/result.json").read_text())["score"]
    assert score > (30 if "CartPole" in env else 0.2)
    assert "return " in run(printed(said), capsys)
    assert "the first episode" in run([*printed(said), "--video", "film.gif", "--episodes", "1"], capsys)
    if OWN in env:
        assert main(["eval", "my run"]) == 2
        assert "return " in run(printed(capsys.readouterr().err), capsys)
        assert main(["train", "--resume", "my run"]) == 2
        assert "finished already" in run(printed(capsys.readouterr().err), capsys)
    else:
        assert "finished already" in run(["train", "--resume", "my run"], capsys)


def test_the_whole_command_has_the_options_that_were_given(capsys: pytest.CaptureFixture[str]) -> None:
    run([*TRAIN, *SHORT, "--env", f"{OWN}:Walk-v0", "--out", "run"], capsys)
    steps = 100 + json.loads(Path("run/config.json").read_text())["steps"]
    assert main(["train", "--steps", str(steps), "--no-progress", "--log", "csv", "--resume", "run"]) == 2
    words = printed(capsys.readouterr().err)
    assert {"--steps", str(steps), "--no-progress", "--log", "csv"} <= set(words)
    run(words, capsys)
    assert json.loads(Path("run/result.json").read_text())["steps"] == steps
    assert main(["eval", "run", "--episodes", "3", "--show"]) == 2
    assert "episode 2: return" in run(printed(capsys.readouterr().err), capsys)


def test_wrappers_alone_are_added_to_the_runs_environment(capsys: pytest.CaptureFixture[str]) -> None:
    run([*TRAIN, "--wrapper", f"{OWN}:Half?by=4", "--out", "run"], capsys)
    whole = run(["eval", "run", "--wrapper", f"{OWN}:Half?by=4"], capsys)
    assert whole == run(["eval", "run", "--env", f"CartPole-v1|{OWN}:Half?by=4"], capsys)
    assert "finished already" in run(["train", "--resume", "run", "--wrapper", f"{OWN}:Half?by=4"], capsys)
    assert "highest 2)" in run(
        ["eval", "run", "--wrapper", f"{OWN}:Half?by=4", "--env-kwargs", "max_episode_steps=8"], capsys
    )
    assert main(["train", "--resume", "run", "--wrapper", "ClipReward"]) == 2
    assert f"was made in 'CartPole-v1|{OWN}:Half?by=4', not in 'CartPole-v1|ClipReward'" in capsys.readouterr().err
    run([*TRAIN, "--env", f"{OWN}:Walk-v0", "--out", "own"], capsys)
    assert main(["eval", "own", "--wrapper", f"{OWN}:Half"]) == 2
    assert "give it too: --env" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--wrapper", "NormaliseObservation"],
            "unknown wrapper 'NormaliseObservation'; did you mean 'NormalizeObservation'?",
        ),
        (["--wrapper", "TimeLimit"], "cannot wrap the environment in 'TimeLimit' with the options {}"),
        (["--wrapper", "no_such_module:Own"], "cannot import 'no_such_module:Own'"),
        (["--wrapper", f"{OWN}:Walk"], "does not derive from gymnasium"),
        (["--env-kwargs", "wheels"], "expected option=value"),
        (["--env-kwargs", "wheels=3"], "cannot make environment 'CartPole-v1?wheels=3'"),
        (["--env", "no_such_module:Own-v0"], "cannot import 'no_such_module' for the environment"),
        (["--env", f"{OWN}:Wolk-v0"], "did you mean 'tests.envs.own_envs:Walk-v0'?"),
        (["--env", f"{OWN}:SPACES"], "unknown environment id"),
        (["--env", f"{OWN}:SHAPES"], "unknown environment id"),
    ],
)
def test_what_cannot_be_made_is_told_in_a_sentence(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*TRAIN, *words, "--out", "run"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert said in told, told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("render", "said"),
    [
        ("", "it has no render()"),
        ("none", "got None; it was made without a render mode, since its constructor takes no"),
    ],
)
def test_an_environment_that_shows_nothing_says_so(render: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    env = f"{OWN}:{'Blind' if render else 'Masked'}-v0"
    run([*TRAIN, "--env", env, "--out", "run"], capsys)
    assert main(["eval", "run", "--env", env, "--video", "film.gif", "--episodes", "1"]) == 2
    assert f"the environment cannot be filmed: {said}" in " ".join(capsys.readouterr().err.split()).replace(
        "render() must return bytes of shape (height, width, 3), ", ""
    )


def test_a_study_takes_environments_options_and_wrappers(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "study",
        "openroom",
        "--agents",
        "mfec",
        "--seeds",
        "1",
        "--sizes",
        "20",
        "--strategies",
        "lru",
        "--steps",
        "60",
    ]
    words += ["--evaluation-interval-steps", "60", "--evaluation-episodes", "1", "--jobs", "1", "--out", "study"]
    own = ["--env", f"{OWN}:Walk-v0", "CartPole-v1", "--env-kwargs", "max_episode_steps=9", "--wrapper", f"{OWN}:Half"]
    run([*words, *own], capsys)
    envs = {json.loads(path.read_text())["env"] for path in Path("study").glob("*/config.json")}
    assert envs == {f"{each}?max_episode_steps=9|{OWN}:Half" for each in (f"{OWN}:Walk-v0", "CartPole-v1")}
