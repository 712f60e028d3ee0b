"""The result of a finished run, and whether the files of one agree with each other."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from engram.agents import Agent
from engram.agents.common.model_file import read_model
from engram.errors import EngramError, RunFolderError
from engram.files.disk import check_readable
from engram.runs.log import LARGEST, parse
from engram.runs.run import Run
from engram.training.events import mean_of

LAST_EVALUATIONS = 10  # a run's score is the mean of this many, as in the paper


def result_of(agent: Agent, scores: Sequence[float]) -> dict[str, Any]:
    """What `result.json` says of an agent at the end of its run, given the means of its evaluations."""
    result: dict[str, Any] = {
        "score": score_of(scores),
        "evaluations": len(scores),
        "steps": agent.steps,
        "episodes": agent.loop.episode,
    }
    if agent.has_memory:
        result["memory_size"] = agent.memory.size.tolist()  # type: ignore[attr-defined]
    return result


def score_of(scores: Sequence[float]) -> float | None:
    """The mean of the last ten evaluations; None without any."""
    return mean_of(scores[-LAST_EVALUATIONS:]) if scores else None


def shown_score(score: Any) -> str:
    """A score or return as text: with two digits after the point below 10, otherwise with one."""
    return f"{score:.2f}" if abs(score) < 10 else f"{score:.1f}"


def is_result(result: Mapping[str, Any]) -> bool:
    """Whether a mapping has what the result of a run has."""
    score, counts = result.get("score"), [result.get(name) for name in ("evaluations", "steps", "episodes")]
    sizes = result.get("memory_size", [])
    plain = isinstance(sizes, list) and all(type(count) is int for count in [*counts, *sizes])
    return plain and "score" in result and (score is None or (type(score) in (int, float) and abs(score) <= LARGEST))


def check_agreement(run: Run, result: Mapping[str, Any], log: bytes, folder: Path) -> None:
    """Raise RunFolderError unless the log and the model of a finished run are those that its result tells of."""
    try:
        facts = _facts_of_log(log, folder) | _facts_of_model(run, folder / "model.safetensors")
    except RunFolderError:
        raise
    except (EngramError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunFolderError(f"the run in {folder} is damaged: {error}") from error
    told: dict[str, Any] = {
        **{name: result[name] for name in ("score", "evaluations", "episodes")},
        "steps of the run": result["steps"],
        "steps of the model": run.steps,
        "agent of the model": run.agent.name,
        "environment of the model": run.env,
        "settings of the model": True,
        "memory of the model": result.get("memory_size"),
    }
    for name, expected in told.items():
        if facts[name] != expected:
            raise RunFolderError(
                f"the files of the run in {folder} do not agree with each other: {name}: {facts[name]!r:.80}, and not "
                f"{expected!r:.80} as its result and config have it"
            )


def _facts_of_log(log: bytes, folder: Path) -> dict[str, Any]:
    entries = list(parse(BytesIO(log), folder / "progress.jsonl"))
    scores = [mean_of(entry["returns"]) for entry in entries if entry["event"] == "evaluation"]
    return {"score": score_of(scores), "evaluations": len(scores), "episodes": len(entries) - len(scores)}


def _facts_of_model(run: Run, path: Path) -> dict[str, Any]:
    check_readable(path)
    model = read_model(path)
    steps = model.state["loop"]["step"]
    size = model.state["memory"]["size"].tolist() if run.agent.has_memory else None
    return {
        "steps of the run": steps,
        "steps of the model": steps,
        "agent of the model": model.agent,
        "environment of the model": model.description["env"],
        "settings of the model": model.description["config"].items() <= run.settings.to_json().items(),
        "memory of the model": size,
    }
