"""The versions of what changes the bits of a run: where it took place, and whether they are the same on resume."""

import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any

import gymnasium

from engram.envs.names import parse_id
from engram.runs.run import Run
from engram.version import __version__


def machine() -> dict[str, Any]:
    """The system, and the versions of what changes results."""
    packages = ["gymnasium", "numba", "numpy", "safetensors"]
    packages += [name for name in ("torch", "ale_py") if name in sys.modules]
    versions = {"engram-rl": __version__} | {package: version(package) for package in packages}
    return {"platform": platform.platform(), "python": platform.python_version(), "versions": versions}


def versions_of(run: Run) -> dict[str, str]:
    """The versions of Python, of Engram and what it computes with, and of the environment's package."""
    about = machine()
    versions = {"python": about["python"], **about["versions"]}
    package = _env_package(run.env)
    return versions if package is None else versions | _version_of(package)


def changed_versions(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """What changed, as text: `numpy 1.26 (now 2.4)`; None if nothing did."""
    changed = [f"{name} {was} (now {now[name]})" for name, was in before.items() if now.get(name, was) != was]
    return ", ".join(changed) or None


def _env_package(env: str) -> str | None:
    """The package that an environment is imported from; None for the usual ones, or if it is not known."""
    spec = gymnasium.registry.get(parse_id(env)[0].rpartition(":")[2])
    where = getattr(spec, "entry_point", None)
    module = where if isinstance(where, str) else str(getattr(where, "__module__", ""))
    package = module.partition(":")[0].partition(".")[0]
    return package if package not in ("", "engram", "gymnasium", "ale_py") else None


def _version_of(package: str) -> dict[str, str]:
    """The version of an installed package by its name, if it has one."""
    for name in packages_distributions().get(package, []):
        try:
            return {name: version(name)}
        except PackageNotFoundError:
            continue
    return {}
