"""A run's folder: what does not belong there is refused unopened, and nothing that may be of use is deleted."""

import os
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from engram.cli import main
from engram.errors import InvalidInputError, RunFolderError, StorageError, UnusableRunError
from engram.files.arrays import read_arrays, write_arrays
from engram.files.lock import LOCK
from engram.runs.cadence import Cadence
from engram.runs.checkpoints import Checkpoints
from engram.runs.folder import RunFolder
from engram.runs.run_files import PRODUCTS
from engram.runs.versions import changed_versions, versions_of
from tests.faults.power import CADENCE, TINY
from tests.faults.storage import OTHER, flip, interrupted
from tests.faults.tally import Stopped, determined, finish

NAMES = (*PRODUCTS, "checkpoint-000000000040.safetensors", "checkpoint-000000000060.safetensors", "lock", "lock.json")
PUT: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda path, target: path.symlink_to(target),
    "pipe": lambda path, target: os.mkfifo(path),
    "folder": lambda path, target: path.mkdir(),
}


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was interrupted."""
    return interrupted(TINY, tmp_path_factory.mktemp("half") / "run", at=70)


@pytest.fixture
def folder(half: Path, tmp_path: Path) -> Path:
    return shutil.copytree(half, tmp_path / "run")


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if path.name != LOCK}


@pytest.mark.parametrize("kind", PUT)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_a_file_in_a_run_is_refused(name: str, kind: str, folder: Path, tmp_path: Path) -> None:
    """Before, `lock.json` and `progress.jsonl` as links emptied what they pointed to, and a pipe hung."""
    path, target = folder / name, tmp_path / "target"
    shutil.copy(path, target) if path.exists() else target.write_bytes(b"gold")
    path.unlink(missing_ok=True)
    PUT[kind](path, target)
    content, before = target.read_bytes(), files(folder)
    with pytest.raises((StorageError, RunFolderError), match=rf"cannot use .*{name}: it is a "):
        finish(TINY, folder, CADENCE)
    assert target.read_bytes() == content
    assert files(folder) == before


def test_the_folder_itself_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert finish(TINY, tmp_path / "link", CADENCE) == ["going on from step 60"]


def test_a_folder_of_a_study_may_not_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / TINY.id).symlink_to(folder)
    with pytest.raises(StorageError, match="it is a symbolic link where a folder should be"):
        RunFolder.inside(tmp_path / "study", TINY.id)
    with pytest.raises(InvalidInputError, match="a run's id must not contain"):
        RunFolder.inside(tmp_path / "study", "../run")


def test_a_log_with_another_name_is_not_written(folder: Path, tmp_path: Path) -> None:
    os.link(folder / "progress.jsonl", tmp_path / "backup.jsonl")
    before = (tmp_path / "backup.jsonl").read_bytes()
    with pytest.raises(StorageError, match="has other names"):
        finish(TINY, folder, CADENCE)
    assert (tmp_path / "backup.jsonl").read_bytes() == before


def test_another_versions_checkpoint_is_gone_on_with_and_told(folder: Path) -> None:
    latest = max(folder.glob("checkpoint-*"))
    manifest, arrays = read_arrays(latest)
    assert manifest["versions"].keys() >= {"python", "engram-rl", "numpy", "numba", "gymnasium"}
    before = {**manifest["versions"], "numpy": "1.0", "gone": "2"}
    write_arrays(latest, {**manifest, "versions": before}, arrays)
    told = finish(TINY, folder, CADENCE)
    (line,) = [text for text in told if "written with" in text]
    assert line.startswith(f"the checkpoint was written with numpy 1.0 (now {manifest['versions']['numpy']}): ")
    assert told[-1] == "going on from step 60"


def test_versions_that_are_the_same_are_not_told() -> None:
    now = versions_of(TINY)
    assert changed_versions(now, now) is None
    assert changed_versions({}, now) is None
    assert changed_versions({"python": "2.7"}, now) == f"python 2.7 (now {now['python']})"


def test_only_what_is_superseded_is_deleted(folder: Path) -> None:
    """A checkpoint goes when two later ones are whole; one that cannot be read stays, and what it may need."""
    damaged = folder / "checkpoint-000000000040.safetensors"
    flip(damaged, folder)
    content = damaged.read_bytes()
    write_arrays(folder / "segment-replay.rows-000000000.safetensors", {"run": TINY.id}, {})
    finish(TINY, folder, CADENCE)
    assert damaged.read_bytes() == content
    assert (folder / "segment-replay.rows-000000000.safetensors").exists()
    assert not (folder / "checkpoint-000000000060.safetensors").exists()


def test_a_checkpoint_under_another_name_is_refused(folder: Path) -> None:
    late = folder / "checkpoint-000000000099.safetensors"
    shutil.copy(folder / "checkpoint-000000000040.safetensors", late)
    told = finish(TINY, folder, CADENCE)
    assert "not those of a checkpoint of this name" in told[0]
    assert told[-1] == "going on from step 60"


def test_starting_over_moves_everything_aside(folder: Path) -> None:
    for number in (1, 2):
        before = {name: content for name, content in files(folder).items() if not name.startswith("aside")}
        told: list[str] = []
        RunFolder(folder).record(TINY, TINY.make_agent(), start_over=True, tell=told.append)
        assert told == [f"what {folder} held of the run is now in {folder / f'aside-{number}'}"]
        assert files(folder / f"aside-{number}") == before


def test_starting_over_from_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = folder / "progress.jsonl"
    log.write_bytes(b"X" + log.read_bytes()[1:])
    before = files(folder)
    words = ["train", "--resume", str(folder), "--no-progress"]
    assert main(words) == 2
    assert "progress.jsonl is not what it was" in " ".join(capsys.readouterr().err.split())
    assert files(folder) == before
    assert main([*words, "--start-over"]) == 0
    assert files(folder / "aside-1") == before


def test_starting_over_does_not_touch_another_run(folder: Path) -> None:
    before = files(folder)
    with pytest.raises(RunFolderError, match="already holds another run"):
        RunFolder(folder).record(OTHER, OTHER.make_agent(), start_over=True)
    assert files(folder) == before


def test_a_run_without_its_config_is_not_begun_again_by_itself(folder: Path, tmp_path: Path) -> None:
    finish(TINY, tmp_path / "whole", CADENCE)
    (folder / "config.json").unlink()
    with pytest.raises(UnusableRunError, match=r"cannot find .*config\.json"):
        finish(TINY, folder, CADENCE)
    RunFolder(folder).record(TINY, TINY.make_agent(), start_over=True, tell=lambda _: None)
    assert determined(folder) == determined(tmp_path / "whole")


def test_a_second_process_after_the_lock_file_was_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where folders cannot be locked, the first one stops before it writes, and the second one's files are whole."""
    monkeypatch.setattr("engram.files.lock.FolderLock._lock_folder", lambda self: True)
    finish(TINY, tmp_path / "whole", CADENCE)
    folder, second = tmp_path / "run", list[object]()

    def begin_second(event: object) -> None:
        if getattr(event, "step", None) == 50 and not second:
            second.append(event)
            (folder / LOCK).unlink()
            finish(TINY, folder, CADENCE)

    with pytest.raises(StorageError, match="another process may use the folder"):
        RunFolder(folder).record(TINY, TINY.make_agent(), (begin_second,), cadence=CADENCE, tell=lambda _: None)
    assert determined(folder) == determined(tmp_path / "whole")


def test_a_run_that_is_killed_before_its_first_checkpoint_leaves_no_log(tmp_path: Path) -> None:
    def stop(event: object) -> None:
        if getattr(event, "step", None) == 50:
            raise Stopped

    with pytest.raises(Stopped):
        RunFolder(tmp_path).record(TINY, TINY.make_agent(), (stop,), cadence=Cadence(steps=60))
    assert (tmp_path / "progress.jsonl").read_bytes() == b""
    assert finish(TINY, tmp_path, CADENCE) == []
    assert not list(tmp_path.glob("aside*"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that is finished."""
    path = tmp_path_factory.mktemp("whole") / "run"
    finish(TINY, path, CADENCE)
    return path


@pytest.mark.parametrize("spoilt", ["model.safetensors", "progress.jsonl", "result.json"])
def test_a_result_whose_run_is_not_there_deletes_no_checkpoint(spoilt: str, folder: Path, whole: Path) -> None:
    for name in ("model.safetensors", "progress.jsonl", "result.json"):
        shutil.copy(whole / name, folder / name)
    if spoilt == "result.json":
        (folder / spoilt).write_text((folder / spoilt).read_text().replace('"score": ', '"score": 1'))
    else:
        (folder / spoilt).unlink()
    before = files(folder)
    with pytest.raises(UnusableRunError, match=rf"result.json says.*{spoilt if 'result' not in spoilt else 'score'}"):
        finish(TINY, folder, CADENCE)
    assert files(folder) == before
    (folder / "result.json").unlink()
    with pytest.raises(UnusableRunError) if spoilt == "progress.jsonl" else nullcontext():
        finish(TINY, folder, CADENCE)
        assert determined(folder) == determined(whole)


def test_what_is_received_deletes_no_checkpoint_unless_it_is_a_finished_run(folder: Path, whole: Path) -> None:
    content = {name: (whole / name).read_bytes() for name in PRODUCTS}
    shutil.copy(whole / "result.json", folder / "result.json")
    before = files(folder)
    with pytest.raises(UnusableRunError, match=r"result.json says that the run is finished, but"):
        RunFolder(folder).receive(TINY, content)
    assert files(folder) == before
    (folder / "result.json").unlink()
    assert RunFolder(folder).receive(TINY, content) == RunFolder(whole).result
    assert determined(folder) == determined(whole)
    assert not Checkpoints(folder, TINY.id).paths()


def test_names_in_ids_never_leave_the_folder() -> None:
    for env in ("../../etc/Evil-v1", "..", "evil\0\n-v0", "x" * 500, "/"):
        run_id = replace(TINY, env=env).id
        assert "/" not in run_id
        assert "\0" not in run_id
        assert len(run_id.encode()) < 200
    assert Checkpoints(Path(), TINY.id).versions == {}
