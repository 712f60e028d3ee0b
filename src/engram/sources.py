"""Digests of the source of classes, so that a part or an agent that was edited counts as another one."""

import inspect
from hashlib import sha256
from types import CodeType, NoneType
from typing import Any

PLAIN = (int, float, str, bool, tuple, NoneType)  # kinds of constants whose value counts as source


def source_digest(kind: type) -> str:
    """A short digest of a class's source, so that an edited part counts as another one.

    It covers the class, the classes of the user's own that it derives from, and the functions and plain constants of
    its module that its methods use. A class that was sent to another machine without its file carries its digest along.
    """
    if "_source_digest" in vars(kind):
        return str(vars(kind)["_source_digest"])
    sources = [class_source(each) for each in kind.__mro__ if not is_ours(each.__module__)]
    seen: dict[str, str] = {}
    for each in kind.__mro__:
        if not is_ours(each.__module__):
            for member in vars(each).values():
                collect_sources(unwrapped(member), each.__module__, seen)
    sources += [seen[name] for name in sorted(seen)]
    digest = sha256("\n".join(sources).encode()).hexdigest()[:12]
    kind._source_digest = digest  # type: ignore[attr-defined]
    return digest


def is_ours(module: str) -> bool:
    """Whether a module belongs to Engram or to Python itself, whose classes are not the user's to edit."""
    return module.partition(".")[0] in ("engram", "builtins", "abc", "typing")


def class_source(kind: type) -> str:
    """The source of a class; its name where it was typed into an interactive session."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return kind.__qualname__


def unwrapped(member: Any) -> Any:
    """The plain function behind a static method, a property, a wrapped or a compiled function."""
    for attribute in ("__func__", "fget", "py_func", "__wrapped__"):
        member = getattr(member, attribute, None) or member
    return member


def collect_sources(function: Any, module: str, seen: dict[str, str]) -> None:
    """Add the sources of all functions and plain constants of a module that a function uses, by name."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return
    for name in names_in(code):
        used = unwrapped(function.__globals__.get(name))
        if name in seen or used is None:
            continue
        if isinstance(used, PLAIN):
            seen[name] = f"{name} = {used!r}"
        elif inspect.isfunction(used) and used.__module__ == module:
            try:
                seen[name] = inspect.getsource(used)
            except (OSError, TypeError):
                seen[name] = name
            collect_sources(used, module, seen)


def names_in(code: CodeType) -> set[str]:
    """All global names that a function, or a function inside it, uses."""
    inner = [names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)
