"""The layers of the source tree: imports point downwards, none is circular, and file names are unique."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from textwrap import dedent

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "engram"

# From the bottom up. A module may import from its own layer and from those before it. `engram` is the package itself.
LAYERS = (
    (
        "errors",
        "typing",
        "checked_fields",
        "checks",
        "compiling",
        "borrowing",
        "garbage",
        "inner_code",
        "randomness",
        "hashing",
        "devices",
        "recording",
        "running_mean",
        "parts",
        "plain_data",
        "sources",
        "frames",
        "machine",
        "version",
        "weights",
        "xxh64",
    ),
    ("files",),
    ("memory",),
    ("envs", "encoders", "exploration", "networks", "replay"),
    ("training",),
    ("agents",),
    ("runs",),
    ("callbacks",),
    ("pictures",),
    ("lab",),
    ("paper",),
    ("bench",),
    ("commands",),
    ("cli",),
    ("engram", "__main__"),
)
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}

# Imports that point upwards although they should not: (module, imported module). Each needs a reason.
KNOWN: frozenset[tuple[str, str]] = frozenset()

# Files that may share a name, because it says which part of its folder's subject they are.
PATTERNS = (
    "**/__init__.py",
    "**/base.py",  # the abstract base of a family
    "paper/*/sweep.py",  # of each study of the paper: the grid of runs,
    "paper/*/published.py",  # the published numbers,
    "paper/*/claims.py",  # the claims,
    "paper/*/analysis.py",  # and the report, where it has one of its own
)
# File names that stand for more than one subject although they should not. Each needs a reason.
KNOWN_NAMES: frozenset[str] = frozenset()

Graph = Mapping[str, set[str]]


def module_name(path: Path) -> str:
    """`src/engram/memory/read.py` as `engram.memory.read`."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(source: str, name: str, modules: frozenset[str], *, package: bool = False) -> Iterator[str]:
    """The modules of this package that a source imports, anywhere: at the top, in functions, for type checkers."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                parts = name.split(".")
                above = node.level - package  # a package is its own folder
                origin = ".".join([*parts[: len(parts) - above], *filter(None, [origin])])
            found = [
                f"{origin}.{alias.name}" if f"{origin}.{alias.name}" in modules else origin for alias in node.names
            ]
        else:
            continue
        yield from (each for each in found if each in modules)


def import_graph() -> dict[str, set[str]]:
    """Every module of the package with those that it imports."""
    paths = {module_name(path): path for path in SOURCE.rglob("*.py")}
    modules = frozenset(paths)
    return {
        name: set(imports(path.read_text(), name, modules, package=path.name == "__init__.py")) - {name}
        for name, path in paths.items()
    }


def layer_of(module: str) -> str:
    """The name in LAYERS that a module belongs to."""
    return module.split(".")[1] if "." in module else module


def upward(graph: Graph) -> set[tuple[str, str]]:
    """Imports from a layer into one above it."""
    return {
        (module, imported)
        for module, targets in graph.items()
        for imported in targets
        if LEVELS[layer_of(imported)] > LEVELS[layer_of(module)]
    }


def cycle_in(graph: Graph) -> list[str]:
    """A circle of imports, if there is one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_module_has_a_layer() -> None:
    assert {layer_of(module) for module in import_graph()} <= LEVELS.keys()


def test_imports_point_downwards() -> None:
    found = upward(import_graph())
    assert found - KNOWN == set(), "these imports point upwards"
    assert KNOWN - found == set(), "these are mended: take them out of KNOWN"


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    assert cycle_in(import_graph()) == []


def test_packages_do_not_import_each_other_in_a_circle() -> None:
    packages: dict[str, set[str]] = {}
    for module, targets in import_graph().items():
        names = {layer_of(each) for each in targets if (module, each) not in KNOWN}
        packages.setdefault(layer_of(module), set()).update(names - {layer_of(module)})
    assert cycle_in(packages) == []


def test_file_names_are_unique() -> None:
    patterned = {path for pattern in PATTERNS for path in SOURCE.glob(pattern)}
    counts = Counter(path.name for path in set(SOURCE.rglob("*.py")) - patterned)
    found = {name for name, count in counts.items() if count > 1}
    assert found - KNOWN_NAMES == set(), "these names stand for more than one subject"
    assert KNOWN_NAMES - found == set(), "these are mended: take them out of KNOWN_NAMES"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import engram.files.disk", ["engram.files.disk"]),
        ("import engram.files.disk as disk, os", ["engram.files.disk"]),
        ("from engram.files.disk import remove", ["engram.files.disk"]),
        ("from engram.files import disk", ["engram.files.disk"]),
        ("from engram import checks", ["engram.checks"]),
        ("from engram import MFEC", ["engram"]),
        ("from . import disk", ["engram.files.disk"]),
        ("from .disk import remove", ["engram.files.disk"]),
        ("from .. import checks", ["engram.checks"]),
        ("from ..checks import one_of", ["engram.checks"]),
        ("def f():\n    from engram import checks", ["engram.checks"]),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import engram.checks", ["engram.checks"]),
        ("import numpy\nfrom os import path", []),
    ],
)
@pytest.mark.parametrize("package", [False, True])
def test_every_form_of_import_is_found(source: str, expected: list[str], package: bool) -> None:
    modules = frozenset({"engram", "engram.checks", "engram.files", "engram.files.disk", "engram.files.lock"})
    name = "engram.files" if package else "engram.files.lock"
    assert list(imports(dedent(source), name, modules, package=package)) == expected


def test_violations_are_found() -> None:
    graph = {"engram.files.disk": {"engram.runs.run"}, "engram.runs.run": {"engram.files.disk", "engram.checks"}}
    assert upward(graph) == {("engram.files.disk", "engram.runs.run")}
    assert set(cycle_in(graph)) == {"engram.files.disk", "engram.runs.run"}
