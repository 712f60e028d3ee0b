"""Records digests, model files, and folders that were left in the middle: `python -m tests.golden.record`.

`python -m tests.golden.record --renew` keeps files and folders as earlier versions made them, and writes down what
becomes of them now: for a change that is meant to show in agents with networks. MFEC's digests may not change by it.
"""

import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

import engram
from engram import load
from tests.golden.cases import (
    LEARN,
    SOON,
    STRATEGIES,
    as_json,
    carry_out,
    cases,
    digest_of_agent,
    digest_of_case,
    digests_of_runs,
    machine,
    study_words,
)

HERE = Path(__file__).parent


class Enough(BaseException):
    """Ends a run as a kill would: nothing is cleared up."""


def model(name: str, agent: Any) -> None:
    """A model file in the middle of an episode, and what becomes of it in 500 more steps."""
    path = HERE / "models" / f"{name}.safetensors"
    path.parent.mkdir(exist_ok=True)
    agent.save(path)
    describe_model(path)


def describe_model(path: Path) -> None:
    """What an agent in a file is, and what becomes of it."""
    env = load(path).describe()["env"]
    before, after = digest_of_agent(load(path), env), digest_of_agent(load(path).learn(500), env)
    path.with_suffix(".json").write_text(as_json({"env": env, "before": before, "after": after}))


def models() -> None:
    """One file for every agent and strategy."""
    for strategy in STRATEGIES:
        name = strategy.replace(":", "-").replace("=", "")
        memory: dict[str, Any] = {"strategy": strategy, "capacity": 20, "seed": 7, **SOON}
        model(f"mfec-{name}", engram.MFEC("CartPole-v1", **memory).learn(1_234))
        model(f"nec-{name}", engram.NEC("engram/OpenRoom-v0", **memory, **LEARN, key_size=8).learn(777))
    model("d3qn", engram.D3QN("CartPole-v1", **SOON, **LEARN, feature_size=16).learn(777))


def interrupted(agent: str, env: str, folder: Path) -> None:
    """A run that was killed at step 1,300 of 2,000, after a checkpoint at 1,200."""
    import engram.runs.log as logging  # noqa: PLC0415

    usual = logging.ProgressLog.__call__

    def until_killed(self: Any, event: Any) -> None:
        if event.step > 1_300:
            raise Enough
        usual(self, event)

    logging.ProgressLog.__call__ = until_killed  # type: ignore[method-assign]
    settings = {"mfec": ["--capacity", "30", "--strategy", "dkm"], "nec": ["--capacity", "30", "--key-size", "8"]}
    try:
        words = ["train", agent, "--env", env, "--steps", "2000", "--seed", "4", *settings.get(agent, [])]
        if agent != "mfec":
            words += ["--replay-size", "500", "--learning-start-steps", "200"]
        carry_out([*words, "--checkpoint-interval-steps", "600", "--no-progress", "--out", str(folder)])
    except Enough:
        pass
    finally:
        logging.ProgressLog.__call__ = usual  # type: ignore[method-assign]


def resumed(agent: str) -> dict[str, str]:
    """What a run that was left in the middle comes to."""
    with TemporaryDirectory() as scratch:
        shutil.copytree(HERE / "folders" / "runs" / agent, Path(scratch) / "one" / agent)
        carry_out(["train", "--resume", str(Path(scratch) / "one" / agent), "--no-progress"])
        return {f"resumed {name}": each for name, each in digests_of_runs(Path(scratch) / "one").items()}


def folders() -> dict[str, Any]:
    """Runs and a study that were left in the middle, and what they come to when they are gone on with."""
    found: dict[str, Any] = {}
    shutil.rmtree(HERE / "folders", ignore_errors=True)
    for agent, env in (("mfec", "CartPole-v1"), ("nec", "engram/OpenRoom-v0"), ("d3qn", "CartPole-v1")):
        left = HERE / "folders" / "runs" / agent
        interrupted(agent, env, left)
        (left / "lock").unlink(missing_ok=True)
        found |= resumed(agent)
    with TemporaryDirectory() as scratch:
        study = Path(scratch) / "study"
        carry_out(study_words(study))
        found |= {f"study {name}": each for name, each in digests_of_runs(study).items()}
        for number, run in enumerate(sorted(path.parent for path in study.glob("*/result.json"))):
            for name in ("lock", "meta.json"):
                (run / name).unlink(missing_ok=True)
            if number % 2:
                shutil.rmtree(run)
        shutil.copytree(study, HERE / "folders" / "study")
    return found


def record(*, renew: bool) -> None:
    """Everything, or only what agents with networks come to."""
    torch.set_num_threads(1)
    before = json.loads((HERE / "digests.json").read_text()) if renew else {}
    digests = {name: digest_of_case(*rest) for name, *rest in cases()}  # type: ignore[arg-type]
    if renew:
        for path in sorted((HERE / "models").glob("*.safetensors")):
            if not path.stem.startswith("mfec"):
                describe_model(path)
        runs = before["runs"] | resumed("nec") | resumed("d3qn")
        changed = [name for name, each in digests.items() if name.startswith("mfec") and each != before["agents"][name]]
        if changed:
            raise SystemExit(f"MFEC has changed: {changed}")
    else:
        models()
        runs = folders()
    (HERE / "digests.json").write_text(as_json({"machine": machine(), "agents": digests, "runs": runs}))
    print(json.dumps(machine()), len(digests), "digests", file=sys.stderr)


if __name__ == "__main__":
    record(renew="--renew" in sys.argv)
