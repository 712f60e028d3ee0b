"""Constructors that take a config's fields as keyword arguments, and are typed as such."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Concatenate, ParamSpec, TypeVar

from engram.agents.common.config import EnvFamily
from engram.envs import EnvLike

P = ParamSpec("P")
A = TypeVar("A")
Constructor = Callable[[A, EnvLike, Any], None]


def takes(config: Callable[P, Any]) -> Callable[[Constructor[A]], Callable[Concatenate[A, EnvLike, P], None]]:
    """Make a constructor of an environment and a config into one of an environment and the config's fields.

    Type checkers and editors then know every setting of `MFEC(env, capacity=…)` with its type. What is made is the
    `Config` of the agent's own class, so a subclass may have one with more settings.
    """

    def decorate(constructor: Constructor[A]) -> Callable[Concatenate[A, EnvLike, P], None]:
        def construct(self: A, *given: Any, **settings: Any) -> None:
            env = the_environment(type(self).__name__, given, settings)
            others = {name: value for name, value in settings.items() if name != "env"}
            constructor(self, env, self.Config.from_settings(others))  # type: ignore[attr-defined]

        construct.__doc__ = constructor.__doc__
        return construct  # type: ignore[return-value]  # env may be named too

    return decorate


def the_environment(agent: str, given: tuple[Any, ...], settings: Mapping[str, Any]) -> Any:
    """The environment among an agent's arguments; TypeError unless it is the only one without a name."""
    unnamed = [*given, *(settings[name] for name in ("env", "policy") if name in settings)]
    if len(unnamed) == 1 and "policy" not in settings:
        return unnamed[0]
    named = [each for each in unnamed if isinstance(each, str) and each.endswith("Policy")]
    if named:
        raise TypeError(f"{agent} needs no policy's name, got {named[0]!r}; leave it out: {agent}(env, …)")
    raise TypeError(
        f"{agent} takes an environment and settings by name, such as {agent}('CartPole-v1', seed=1); got "
        f"{', '.join(map(repr, unnamed)) or 'no environment'}"
    )


def signature_of(config: Any) -> inspect.Signature:
    """The signature of an agent that takes an environment and the fields of a config."""
    settings = [
        inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
        for field in fields(config)
    ]
    env = inspect.Parameter("env", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=EnvLike)
    preset = inspect.Parameter("preset", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=EnvFamily | None)
    return inspect.Signature([env, *settings, preset])
