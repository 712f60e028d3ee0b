"""Constructors that take a config's fields as keyword arguments, and are typed as such."""

import inspect
from collections.abc import Callable
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
        def construct(self: A, env: EnvLike, *args: P.args, **settings: P.kwargs) -> None:
            if args:
                raise TypeError(
                    f"{type(self).__name__} takes an environment and settings by name, such as capacity=100; got "
                    f"{', '.join(map(repr, (env, *args)))}"
                )
            constructor(self, env, self.Config.from_settings(settings))  # type: ignore[attr-defined]

        construct.__doc__ = constructor.__doc__
        return construct  # type: ignore[return-value]  # env may be named too

    return decorate


def signature_of(config: Any) -> inspect.Signature:
    """The signature of an agent that takes an environment and the fields of a config."""
    settings = [
        inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
        for field in fields(config)
    ]
    env = inspect.Parameter("env", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=EnvLike)
    preset = inspect.Parameter("preset", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=EnvFamily | None)
    return inspect.Signature([env, *settings, preset])
