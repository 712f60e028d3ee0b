"""Finished runs from elsewhere: taken over only if their files agree with each other."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engram.agents.mfec import MFEC, MFECConfig
from engram.errors import EngramError
from engram.lab.study_folder import StudyFolder
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from engram.runs.run_files import PRODUCTS
from tests.faults.power import CADENCE
from tests.faults.storage import flip
from tests.faults.tally import determined, finish

RUN = Run(MFEC, "CartPole-v1", MFECConfig(capacity=10, neighbours=3, seed=1), 400, 100, 2)
SEED = Run(MFEC, "CartPole-v1", MFECConfig(capacity=10, neighbours=3, seed=2), 400, 100, 2)


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("studies")
    for run in (RUN, SEED):
        finish(run, root / "one" / run.id, CADENCE)
    return root


@pytest.fixture
def one(studies: Path, tmp_path: Path) -> Path:
    return shutil.copytree(studies / "one", tmp_path / "one")


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def swap(folder: Path, name: str) -> None:
    shutil.copy(folder.parent / SEED.id / name, folder / name)


def link(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "score": (lambda folder: change(folder / "result.json", score=500.0), "do not agree with each other: score"),
    "steps": (lambda folder: change(folder / "result.json", steps=399), "do not agree with each other: steps"),
    "memory": (lambda folder: change(folder / "result.json", memory_size=[1, 2]), "memory of the model"),
    "another model": (lambda folder: swap(folder, "model.safetensors"), "do not agree with each other"),
    "another log": (lambda folder: swap(folder, "progress.jsonl"), "do not agree with each other"),
    "another result": (lambda folder: swap(folder, "result.json"), "do not agree with each other"),
    "damaged model": (lambda folder: flip(folder / "model.safetensors", folder), "damaged"),
    "no model": (lambda folder: (folder / "model.safetensors").unlink(), "No such file"),
    "cut log": (lambda folder: (folder / "progress.jsonl").write_bytes(b"{"), "line 1 of .* is not an episode"),
    **{name: (lambda folder, name=name: link(folder / name), "is a symbolic link") for name in PRODUCTS},  # type: ignore[misc]
}


def test_a_whole_run_is_taken(one: Path, tmp_path: Path) -> None:
    two = tmp_path / "two"
    assert StudyFolder(two).take_from([one], [RUN, SEED]) == 2
    assert determined(two / RUN.id) == determined(one / RUN.id)
    assert StudyFolder(two).take_from([one], [RUN, SEED]) == 0


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_run_whose_files_do_not_agree_is_not_taken(damage: str, one: Path, tmp_path: Path) -> None:
    spoil, message = DAMAGES[damage]
    spoil(one / RUN.id)
    with pytest.raises(EngramError, match=message):
        StudyFolder(tmp_path / "two").take_from([one], [RUN])
    assert not (tmp_path / "two" / RUN.id).exists()


def test_a_run_that_had_begun_keeps_a_log_that_differs(one: Path, tmp_path: Path) -> None:
    here = RunFolder(tmp_path / "two" / RUN.id)
    here.claim(RUN)
    here.progress_file.write_bytes(b"something else")
    StudyFolder(tmp_path / "two").take_from([one], [RUN])
    assert (here.path / "aside-1" / "progress.jsonl").read_bytes() == b"something else"
    assert determined(here.path) == determined(one / RUN.id)


def test_a_link_to_a_run_is_not_taken(one: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / RUN.id).symlink_to(one / RUN.id)
    with pytest.raises(EngramError, match="it is a symbolic link where a folder should be"):
        StudyFolder(tmp_path / "two").take_from([tmp_path / "links"], [RUN])
