"""What contributors rely on agrees: hooks with `make lint`, versions, lock files, and paths in the workflow."""

import re
import zipfile
from pathlib import Path

import pytest
from tools.release_check import (
    NEVER_SHIPPED,
    check_contents,
    check_locks,
    check_version,
    direct,
    locked_extras,
    pins,
    settings_of,
    sizes,
    version_of,
)

import engram

ROOT = Path(__file__).parents[1]


def test_commit_hooks_are_the_checks_of_make_lint() -> None:
    recipe = re.search(r"^lint: setup\n((?:\t.+\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    checks = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe[1].splitlines()]
    hooks = re.findall(r"^ +entry: (.+)$", (ROOT / ".pre-commit-config.yaml").read_text(), re.MULTILINE)
    assert hooks == checks


def test_the_workflow_names_tests_that_exist_and_every_supported_python() -> None:
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    paths = re.findall(r"tests/[\w/.]+", workflow)
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []
    supported = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    matrix = re.search(r"python: \[(.+)\]", workflow)
    assert matrix is not None
    assert re.findall(r"[\d.]+", matrix[1]) == supported


def test_the_version_is_the_same_everywhere() -> None:
    assert version_of(ROOT) == engram.__version__
    assert check_version(ROOT, draft=True) == []


def test_lock_files_have_every_dependency_in_the_version_of_the_constraints() -> None:
    assert check_locks(ROOT) == []
    recipe = (ROOT / "Makefile").read_text().partition("\nlock:")[2].partition("\n\n")[0]
    assert re.findall(r"--extra (\w+)", recipe) == locked_extras(settings_of(ROOT)["project"])


def test_a_release_that_is_not_ready_is_found(tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    (tmp_path / "package.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["numpy>=2", "Rich"]\n[project.optional-dependencies]\ntorch = ["torch"]\n'
        'report = ["a[b]>=1"]\nall = ["x[torch,report]"]\n[tool.hatch.version]\npath = "package.py"\n'
    )
    (tmp_path / "CITATION.cff").write_text("title: x\nversion: 1.1.0\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## [1.2.0] - Unreleased\n")
    (tmp_path / "constraints.txt").write_text("numpy==2.1\nrich==3\na==4\n")
    hashed = "numpy==2.0 \\\n    --hash=sha256:00\nrich==3 \\\n    --hash=sha256:00\n"
    (tmp_path / "requirements" / "core.txt").write_text(hashed)
    (tmp_path / "requirements" / "extras.txt").write_text("numpy==2.1\nrich==3\ntorch==2\n")
    assert check_version(tmp_path, draft=True) == ["CITATION.cff must have the line `version: 1.2.0`"]
    assert "needs the date of the release, got 'Unreleased'" in check_version(tmp_path, draft=False)[1]
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## [1.1.0] - 2026-01-01\n")
    assert "must be `## [1.2.0] - YYYY-MM-DD`" in check_version(tmp_path, draft=True)[1]
    problems = " ".join(check_locks(tmp_path))
    for found in ("core.txt has numpy 2.0, and constraints.txt 2.1", "extras.txt lacks a;", "must not pin torch"):
        assert found in problems
    assert "extras.txt has entries without hashes" in problems
    assert "core.txt has entries without hashes" not in problems


def test_requirements_are_compared_by_their_normal_names(tmp_path: Path) -> None:
    path = tmp_path / "constraints.txt"
    path.write_text("Farama-Notifications==0.0.6\ntyping_extensions==4.1 \\\n    --hash=sha256:00\n# via x==1\n")
    assert pins(path) == {"farama-notifications": "0.0.6", "typing-extensions": "4.1"}
    assert direct(["Pandas<3", "gymnasium[classic-control]", "a_b>=1; python_version<'3.12'"]) == {
        "pandas",
        "gymnasium",
        "a-b",
    }


@pytest.mark.parametrize("name", ["engram/__pycache__/x.cpython-311.pyc", "engram/memory/read.search-5.py311.1.nbc"])
def test_caches_are_not_shipped(name: str) -> None:
    assert check_contents(["engram/memory/read.py", name]) == [f"{name} must not be shipped"]
    assert not NEVER_SHIPPED.search("engram_rl-0.1.0/.gitignore")


def test_a_wheels_size_is_told_by_part(tmp_path: Path) -> None:
    names = ("engram/cli.py", "engram/files/disk.py", "engram/lab/grid.py", "engram_rl-1.dist-info/RECORD")
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as file:
        for name in names:
            file.writestr(name, "1234")
    assert sizes(tmp_path / "x.whl") == {"library": 8, "laboratory": 4, "metadata": 4}
