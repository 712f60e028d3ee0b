"""Studies of one's own in TOML or Python files: `engram study my.toml`, `engram study my.py`.

    name = "mine"
    title = "Two strategies at two sizes"
    seeds = 5

    [[grids]]
    agent = "mfec"
    env = ["CartPole-v1", "Acrobot-v1"]
    steps = 15_000
    strategies = ["lru", "my_parts:Reservoir:seed=3"]
    sizes = [50, 500]
    settings = { neighbours = 5 }
    evaluation = { interval_steps = 500, episodes = 10 }

Keys of a grid that stand above the grids hold for all of them. A Python file defines `STUDY`, a `Study`. Agents and
parts given as `module:Class` are imported, from the folder of the file too: the user names the file on the command
line, which a file in a study's folder is not.
"""

import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from engram import checks
from engram.agents import find_agent
from engram.errors import InvalidInputError
from engram.files.disk import storage_errors
from engram.files.file_names import check_file_name
from engram.lab.cell import Cell
from engram.lab.grid import Grid, Study, parse_seeds
from engram.lab.study_folder import place_of

PREFIX = "evaluation_"
EVALUATION = tuple(field.name.removeprefix(PREFIX) for field in fields(Grid) if field.name.startswith(PREFIX))
GRID_KEYS = ("agent", "env", "steps", "seeds", "strategies", "sizes", "settings", "evaluation", "variant")
STUDY_KEYS = ("name", "title", "grids", *GRID_KEYS)


SUFFIXES = (".toml", ".py")


def read_study(path: Path) -> Study:
    """The study that a TOML or Python file describes."""
    with storage_errors("read", path):
        text = as_text(path.read_bytes(), path)
    try:
        study = _from_python(path) if path.suffix == ".py" else _from_toml(text, path)
        _check_variants(study)  # which makes every run, and so checks every agent, strategy and setting
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    return study


def _check_variants(study: Study) -> None:
    """Raise InvalidInputError unless every cell of a variant is there without it too, to be compared with."""
    variants = study.variants()
    cells = {run.id: Cell.of(place_of(run)) for run in study.runs()}
    plain = {cell for run_id, cell in cells.items() if run_id not in variants}
    for run_id, cell in cells.items():
        if cell not in plain:
            where = ", ".join(str(part) for part in cell if part is not None)
            raise InvalidInputError(
                f"the variant {variants[run_id]!r} of {where} has nothing to be compared with; add a grid of the same "
                "agent, environment, strategy and size without a variant"
            )


def as_text(content: bytes, path: Path) -> str:
    """The text of a file."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is no text in UTF-8: {error}") from error


def _from_python(path: Path) -> Study:
    """The `STUDY` that a Python file defines, which is run: the user names it on the command line."""
    taken = find_spec(path.stem) if path.stem.isidentifier() else None
    elsewhere = taken is not None and taken.origin != str(path.absolute())
    if elsewhere or not path.stem.isidentifier():
        raise InvalidInputError(
            f"it cannot be imported by the name {path.stem!r}, as there is another module of that name or it is none "
            "for a module; rename the file"
        )
    sys.path.insert(0, str(path.absolute().parent))
    study = getattr(import_module(path.stem), "STUDY", None)
    if not isinstance(study, Study):
        raise InvalidInputError(f"it must define STUDY = Study(name, title, grids), got {study!r:.100}")
    _check_name(study.name)
    return study


def _check_name(name: str) -> None:
    """Raise InvalidInputError unless a study can have this name, which is that of its folder too."""
    if not re.fullmatch(r"[\w.-]+", name):
        raise InvalidInputError(f"name must consist of letters, digits, '-', '_' and '.', got {name!r}")
    check_file_name("name", name)


def _from_toml(text: str, path: Path) -> Study:
    """The study that a TOML file describes."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"it is not a TOML file: {error}") from error
    sys.path.insert(0, str(path.absolute().parent))  # where the modules of the user's own parts lie
    return study_of(content, path.stem)


def study_of(content: Mapping[str, Any], usual_name: str) -> Study:
    """The study that the tables of a file describe."""
    _check_keys("a study", content, STUDY_KEYS)
    name = _typed(content, "name", str, usual_name)
    _check_name(name)
    common = {key: value for key, value in content.items() if key in GRID_KEYS}
    grids = _typed(content, "grids", list, [{}])
    return Study(
        name, _typed(content, "title", str, ""), tuple(each for grid in grids for each in _grids(grid, common))
    )


def _grids(given: Any, common: Mapping[str, Any]) -> list[Grid]:
    """The grids of one table of the file: one for each of its agents and environments."""
    if not isinstance(given, dict):
        raise InvalidInputError(f"grids must be tables, [[grids]], got {given!r}")
    _check_keys("a grid", given, GRID_KEYS)
    table = {**common, **given}
    for key in ("agent", "env"):
        if key not in table:
            raise InvalidInputError(f"a grid needs {key!r}; got {', '.join(table) or 'nothing'}")
    evaluation = _typed(table, "evaluation", dict, {})
    _check_keys("evaluation", evaluation, EVALUATION)
    options = {
        "seeds": _seeds(table.get("seeds", 5)),
        "strategies": _several(table, "strategies", str),
        "sizes": _several(table, "sizes", int),
        "settings": _typed(table, "settings", dict, {}),
        "variant": _typed(table, "variant", str, ""),
        **{f"{PREFIX}{key}": value for key, value in evaluation.items()},
    }
    pairs = product(_several(table, "agent", str), _several(table, "env", str))
    return [
        Grid(agent, env, _typed(table, "steps", int, find_agent(agent).default_steps), **options)
        for agent, env in pairs
    ]


def _seeds(given: Any) -> tuple[int, ...]:
    """Seeds from how many (5), from-to ("5-9") or which ([1, 3, 8])."""
    if isinstance(given, list) and given and all(type(each) is int and each >= 0 for each in given):
        return tuple(dict.fromkeys(given))
    if isinstance(given, list | bool):
        raise InvalidInputError(f'seeds must be how many (5), from-to ("5-9") or which ([1, 3, 8]), got {given!r}')
    return parse_seeds(str(given))


def _check_keys(what: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        checks.one_of(f"a key of {what}", key, known)


def _typed(table: Mapping[str, Any], key: str, kind: Callable[..., Any], default: Any) -> Any:
    """A value of the table that must be of a type."""
    value = table.get(key, default)
    if type(value) is not kind:
        raise InvalidInputError(f"{key} must be {_NAMES[kind]}, got {value!r}")
    return value


def _several(table: Mapping[str, Any], key: str, kind: type) -> tuple[Any, ...]:
    """One value, or a list of values, of a type."""
    value = table.get(key, [])
    values = value if isinstance(value, list) else [value]
    for each in values:
        if type(each) is not kind:
            raise InvalidInputError(f"{key} must be {_NAMES[kind]} or a list of them, got {each!r}")
    return tuple(values)


_NAMES: dict[Any, str] = {str: "a string", int: "a whole number", dict: "a table", list: "a list"}
