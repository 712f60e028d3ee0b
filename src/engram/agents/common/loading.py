"""How an agent of a known class is made from a model file."""

from pathlib import Path
from typing import Any

from engram.agents.common.model_file import MALFORMED, Model, find_model, read_model
from engram.envs import EnvLike
from engram.envs.absent import AbsentEnv
from engram.envs.names import imports_nothing
from engram.errors import EngramError, InvalidInputError, ModelFileError


def load_as(kind: Any, path: str | Path, env: EnvLike | None, parts: dict[str, Any], *, for_prediction: bool) -> Any:
    """The agent of this class that a file or a run's folder holds."""
    model = read_model(find_model(path))
    if model.agent != kind.name:
        raise ModelFileError(f"{path} holds a {model.agent} agent, not {kind.name}; use engram.load(path)")
    try:
        absent = AbsentEnv(model.description) if env is None and for_prediction else None
        return _made(kind, model, path, env if absent is None else absent, parts)
    except EngramError:
        raise
    except MALFORMED as error:
        raise ModelFileError(
            f"{path} is damaged: its content is not that of a {kind.name} agent ({error!r})"
        ) from error


def _made(kind: Any, model: Model, path: str | Path, env: EnvLike | AbsentEnv | None, parts: dict[str, Any]) -> Any:
    described = model.description
    source = env if env is not None else described["env"]
    if source is None:
        raise InvalidInputError(
            f"{path} does not say how to make its environment; give it: in Python load(path, env), on the command line "
            "--env; or do without and only predict: load(path, for_prediction=True)"
        )
    if env is None and not imports_nothing(source):
        raise ModelFileError(
            f"{path} does not name a registered environment ({source!r:.200}); give it: in Python load(path, env), on "
            "the command line --env"
        )
    config = kind.Config.from_json(described["config"], parts)
    model.check_widths(kind.widths(described["config"], described["spaces"]["shape"]))
    agent = kind.__new__(kind)
    agent._begin(source, config)
    mine = agent.describe()
    for what in ("spaces", "form"):
        if what in described and mine.get(what) != described[what]:
            raise InvalidInputError(
                f"{path} was trained with {described[what]!s:.300}, but the environment has {mine.get(what)!s:.300}; "
                "give it the environment that it was trained in, or one of the same kind"
            )
    agent.load_state_dict(model.state)
    return agent
