"""Checks a release before it is published: version, changelog, lock files, and the wheel in an empty environment.

`make release-check` runs it. With --draft, the changelog's section may still be without a date. Built files are left in
`dist/`, if everything is well.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
UNLOCKED = {"torch"}  # which build is right depends on the machine
PARTS = {"lab": "laboratory", "paper": "paper", "commands": "commands"}  # folders of the wheel; the rest is the library
NEVER_SHIPPED = re.compile(r"__pycache__|\.py[co]$|\.nb[ic]$|\.egg-info|(^|/)\.(venv|coverage|mypy_cache|ruff_cache)")
USE = """
import importlib.util
import engram
from engram import MFEC
for extra in ("torch", "ale_py", "ray", "matplotlib", "polars", "scipy", "sklearn", "PIL"):
    assert importlib.util.find_spec(extra) is None, f"{extra} is installed, so the environment is not empty"
agent = MFEC("CartPole-v1", capacity=50, seed=1).learn(200)
assert agent.steps == 200 and agent.memory.size.sum() > 0
"""


def version_of(root: Path) -> str:
    """The version that the build backend reads."""
    file = settings_of(root)["tool"]["hatch"]["version"]["path"]
    found = re.search(r'^__version__ = "([^"]+)"$', (root / file).read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{file} has no line __version__ = …")
    return found[1]


def settings_of(root: Path) -> Any:
    """The content of pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text())


def check_version(root: Path, *, draft: bool) -> list[str]:
    """What does not agree on the version: CITATION.cff and CHANGELOG.md."""
    version = version_of(root)
    problems = []
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text():
        problems.append(f"CITATION.cff must have the line `version: {version}`")
    heading = re.search(r"^## \[(.+?)\] - (.+)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    if heading is None or heading[1] != version:
        problems.append(f"the first section of CHANGELOG.md must be `## [{version}] - YYYY-MM-DD`")
    elif not draft and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", heading[2]):
        problems.append(f"the section [{version}] of CHANGELOG.md needs the date of the release, got {heading[2]!r}")
    return problems


def pins(path: Path) -> dict[str, str]:
    """Normalised names and versions of all `name==version` lines."""
    found = re.findall(r"^([A-Za-z0-9_.-]+)==([^\s;\\]+)", path.read_text(), re.MULTILINE)
    return {normal(name): version for name, version in found}


def normal(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def direct(requirements: list[str]) -> set[str]:
    """The normalised names of requirements such as `numpy>=2.0`."""
    return {normal(re.split(r"[\[<>=!~; ]", each, maxsplit=1)[0]) for each in requirements}


def locked_extras(project: dict[str, Any]) -> list[str]:
    """The extras in `all` but those that are not locked; `make lock` names the same."""
    (everything,) = project["optional-dependencies"]["all"]
    return [name for name in everything.partition("[")[2].rstrip("]").split(",") if name not in UNLOCKED]


def check_locks(root: Path) -> list[str]:
    """What the lock files lack, or have in another version than constraints.txt."""
    project = settings_of(root)["project"]
    extras = [each for name in locked_extras(project) for each in project["optional-dependencies"][name]]
    problems, versions = [], pins(root / "constraints.txt")
    for name, needed in (("core.txt", project["dependencies"]), ("extras.txt", project["dependencies"] + extras)):
        path = root / "requirements" / name
        locked = pins(path)
        problems += [f"{path.name} lacks {each}" for each in sorted(direct(needed) - locked.keys())]
        problems += [f"{path.name} must not pin {each}" for each in sorted(UNLOCKED & locked.keys())]
        problems += [
            f"{path.name} has {each} {version}, and constraints.txt {versions.get(each, 'none')}"
            for each, version in locked.items()
            if versions.get(each) != version
        ]
        if path.read_text().count("--hash=sha256:") < len(locked):
            problems.append(f"{path.name} has entries without hashes")
    return [f"{problem}; `make lock` renews it" for problem in problems]


def check_contents(names: list[str]) -> list[str]:
    """Files that must not be in a distribution."""
    return [f"{name} must not be shipped" for name in names if NEVER_SHIPPED.search(name)]


def sizes(wheel: Path) -> dict[str, int]:
    """Compressed bytes of each part of a wheel."""
    found: Counter[str] = Counter()
    with zipfile.ZipFile(wheel) as file:
        for info in file.infolist():
            folder = info.filename.split("/")[1]
            part = PARTS.get(folder, "library") if info.filename.startswith("engram/") else "metadata"
            found[part] += info.compress_size
    return dict(found)


def build(root: Path, out: Path) -> tuple[Path, Path]:
    """The source distribution, and the wheel made from it."""
    run(sys.executable, "-m", "build", "--outdir", str(out), str(root))
    (source,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return source, wheel


def try_wheel(root: Path, wheel: Path, folder: Path) -> None:
    """Install a wheel without extras, with the locked versions and their hashes, into an empty environment; use it."""
    venv.create(folder, with_pip=True)
    place = folder / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(place / "python")
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--require-hashes", "--requirement", str(root / "requirements" / "core.txt"))
    run(*pip, "--no-deps", str(wheel))
    run(python, "-m", "pip", "check")
    run(str(place / "engram"), "--version", cwd=folder)
    run(python, "-c", USE, cwd=folder)
    run(str(place / "engram"), "train", "mfec", "--steps", "200", "--no-progress", "--out", "run", cwd=folder)


def run(*words: str, cwd: Path | None = None) -> None:
    """Run a program; stop with its output if it fails."""
    result = subprocess.run(words, cwd=cwd, text=True, capture_output=True, check=False)
    if result.returncode:
        command = " ".join(words[:6])
        raise SystemExit(f"failed: {command}\n{result.stdout}{result.stderr}")


def main() -> int:
    """All checks; 1 if anything must be mended."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draft", action="store_true", help="allow a changelog section without a date")
    draft = parser.parse_args().draft
    problems = check_version(ROOT, draft=draft) + check_locks(ROOT)
    with tempfile.TemporaryDirectory(prefix="engram-release-") as scratch:
        source, wheel = build(ROOT, Path(scratch) / "dist")
        with tarfile.open(source) as file:
            problems += check_contents(file.getnames())
        with zipfile.ZipFile(wheel) as archive:
            problems += check_contents(archive.namelist())
        try_wheel(ROOT, wheel, Path(scratch) / "empty")
        print(f"{source.name}: {source.stat().st_size / 1024:.0f} kB")
        parts = ", ".join(f"{part} {size / 1024:.0f} kB" for part, size in sorted(sizes(wheel).items()))
        print(f"{wheel.name}: {wheel.stat().st_size / 1024:.0f} kB ({parts})")
        print("the wheel works in an empty environment: import, engram --version, 200 steps of MFEC")
        if not problems:
            shutil.copytree(source.parent, ROOT / "dist", dirs_exist_ok=True)
    for problem in problems:
        print(f"to mend: {problem}", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
