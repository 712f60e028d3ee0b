"""The laboratory knows nothing of the paper, and its modules import one another in one direction."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import engram

SOURCE = Path(engram.__file__).parent


def imports(file: Path) -> Iterator[str]:
    """The modules of Engram that a file imports, wherever in the file, and the names that it imports from them."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def modules(*folders: str) -> dict[str, Path]:
    """The modules of some folders by their dotted names."""
    found = {}
    for file in (file for folder in folders for file in (SOURCE / folder).rglob("*.py")):
        found[".".join(["engram", *file.relative_to(SOURCE).with_suffix("").parts])] = file
    return found


def test_the_laboratory_knows_nothing_of_the_paper_and_the_commands() -> None:
    for name, file in modules("lab").items():
        above = [each for each in imports(file) if each.startswith(("engram.paper", "engram.commands"))]
        assert not above, f"{name} imports {above}"
        assert "engram.paper" not in file.read_text(), name


def test_there_are_no_import_cycles() -> None:
    known = modules("lab", "paper")
    graph = {name: {each for each in imports(file) if each in known} for name, file in known.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(known)  # raises CycleError
