"""How often each claim's rule is right, as simulated by `tools/rule_power.py`, and which rules that was."""

import ast
import json
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path

from engram.lab.verdicts import Chance

FILE = Path(__file__).with_name("rule_power.json")
SOURCE = Path(__file__).parents[1]
PARTS = ("lab/statistics.py", "lab/comparisons.py", "paper/across_studies.py")  # of all rules
DECIDING = ("measured", "word_of", "one_of")  # in lab/verdicts.py, the functions that decide; the others speak


def read_power() -> dict[int, tuple[Chance, ...]]:
    """By claim, how often its rule came to each word in each world; empty before the first simulation."""
    if not FILE.exists():
        return {}
    found: dict[int, list[Chance]] = {}
    for row in json.loads(FILE.read_text())["chances"]:
        number = row.pop("claim")
        found.setdefault(number, []).append(Chance(**row))
    return {number: tuple(chances) for number, chances in found.items()}


def read_digest() -> str:
    """The digest of the rules that were simulated."""
    digest: str = json.loads(FILE.read_text())["rules"]
    return digest


def rules_digest() -> str:
    """A digest of the code of all rules: what they compute, not how they are explained.

    Docstrings, comments, imports and the texts of claims are left out.
    """
    paths = [*(SOURCE / part for part in PARTS), *sorted((SOURCE / "paper").glob("*/claims.py"))]
    codes = [
        code_of((SOURCE / "lab/verdicts.py").read_text(), DECIDING),
        *(code_of(path.read_text()) for path in paths),
    ]
    return sha256("\n".join(codes).encode()).hexdigest()[:16]


def code_of(source: str, functions: Collection[str] = ()) -> str:
    """What a source computes, or these functions of it, as text that is the same for the same code."""
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom) and not _claims(node)]
    if functions:
        wanted = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in functions]
        tree.body = [*(node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)), *wanted]
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _claims(node: ast.stmt) -> bool:
    """Whether it is the list of claims, in which all but the numbers is text."""
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "CLAIMS" for t in node.targets)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
