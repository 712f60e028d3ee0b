"""Options that say how an environment is made, the same on every command."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import UseAppendAction

from engram.agents.common.model_file import read_model
from engram.envs.names import imports_nothing, with_more
from engram.errors import InvalidInputError
from engram.runs.folder import RunFolder


@dataclass(frozen=True, kw_only=True)
class EnvOptions:
    """What is added to an environment's id."""

    env_kwargs: tuple[str, ...] = ()  # options of the environment: key=value …, or a JSON object
    wrapper: UseAppendAction[
        tuple[str, ...]
    ] = ()  # around it, the innermost first: TimeLimit?max_episode_steps=99, module:Class?…

    def whole_env(self, env: str) -> str:
        """The environment with these options and wrappers, as one string."""
        return with_more(env, self.env_kwargs, self.wrapper)


def recorded_env(path: Path, *, again: bool) -> str:
    """The environment that a run's folder or a model file names, to be added to on a command line.

    Wrappers that are the user's own no file imports: where there are any, all are given `again`. An environment that
    would import a module has to be given as a whole.
    """
    recorded = (RunFolder(path).config or {}).get("env") if path.is_dir() else read_model(path).description.get("env")
    env = str(recorded)
    if again and not imports_nothing(env):
        env = env.partition("|")[0]
    if recorded is None or not imports_nothing(env):
        raise InvalidInputError(
            f"{path} does not name a registered environment to add options or wrappers to; give it too: --env …"
        )
    return env
