"""The site is built without a warning and asks no other server for anything; the notebooks run."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(ROOT.glob("examples/*.ipynb"))
LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"([^\"]+)|<link\b[^>]*\bhref=\"([^\"]+)")


def test_there_are_notebooks_and_none_holds_outputs() -> None:
    assert len(NOTEBOOKS) >= 3
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text())["cells"]
        assert all(not cell.get("outputs") for cell in cells), f"clear the outputs of {path.name}"


def test_every_page_is_listed_in_a_table_of_contents() -> None:
    pages = {path for pattern in ("docs/*.md", "results/*.md", "results/*/*.md") for path in ROOT.glob(pattern)}
    listed = {ROOT / "docs" / "index.md"}
    for path in pages:
        for block in re.findall(r"```\{toctree\}\n(.*?)```", path.read_text(), re.DOTALL):
            for line in block.splitlines():
                if line and not line.startswith(":"):
                    name = re.sub(r".*<(.*)>", r"\1", line)
                    listed.add((path.parent / f"{name}.md").resolve())
    assert pages - listed == set()


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    (tmp_path / "cells.py").write_text(f"import matplotlib\nmatplotlib.use('Agg')\n{code}\n")
    done = subprocess.run([sys.executable, "cells.py"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_is_whole(tmp_path: Path) -> None:
    words = ["-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-c", "docs", "-d", str(tmp_path / "d")]
    done = subprocess.run(
        [sys.executable, *words, ".", str(tmp_path / "site")], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tmp_path / "site").as_posix(): path for path in tmp_path.glob("site/**/*.html")}
    written = {f"docs/{path.stem}.html" for path in ROOT.glob("docs/*.md")} | {
        f"examples/{path.stem}.html" for path in NOTEBOOKS
    }
    assert written <= set(pages)
    assert "docs/index.html" in pages["index.html"].read_text()
    for name, path in pages.items():
        loaded = ["".join(found) for found in LOADED.findall(path.read_text())]
        assert [url for url in loaded if url.startswith(("http", "//"))] == [], name
