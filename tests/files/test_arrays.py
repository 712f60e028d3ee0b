"""Model files: whole or not at all, and never anything but data."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from engram import MFEC, load
from engram.errors import EngramError, ModelFileError, StorageError
from engram.files.arrays import FORMAT, VERSION, join, read_arrays, split, write_arrays
from engram.files.disk import write_atomically
from tests.conftest import Corridor


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    MFEC("CartPole-v1", capacity=30, seed=1).learn(300).save(path)
    return path


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="there is no model file at"):
        load(tmp_path / "none.safetensors")


@pytest.mark.parametrize("keep", [0, 1, 7, 100, 0.5, 0.99])
def test_a_truncated_file(model: Path, keep: float) -> None:
    content = model.read_bytes()
    model.write_bytes(content[: int(keep if keep >= 1 else keep * len(content))])
    with pytest.raises(ModelFileError, match="damaged or not a model file"):
        load(model)


def test_a_file_of_something_else(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a model, however long it may go on about it")
    with pytest.raises(ModelFileError, match="damaged or not a model file"):
        load(text)
    tensors = tmp_path / "other.safetensors"
    save_file({"x": np.zeros(3)}, tensors)
    with pytest.raises(ModelFileError, match="not an Engram model"):
        load(tensors)
    save_file({"x": np.zeros(3)}, tensors, {FORMAT: "sum\n{"})
    with pytest.raises(ModelFileError, match="manifest cannot be read"):
        load(tensors)


def test_a_newer_format_asks_for_an_upgrade(tmp_path: Path) -> None:
    newer = tmp_path / "newer.safetensors"
    save_file({"x": np.zeros(3)}, newer, {FORMAT: "sum\n" + json.dumps({"version": VERSION + 1})})
    with pytest.raises(ModelFileError, match=rf"format version {VERSION + 1}.*reads up to {VERSION}.*upgrade"):
        load(newer)


def test_a_failed_save_keeps_what_was_there(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = model.read_bytes()

    def full_disk(_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("engram.files.disk.os.fsync", full_disk)
    with pytest.raises(StorageError, match=r"No space left.*what was saved before is untouched"):
        write_atomically(model, b"half a model")
    assert model.read_bytes() == before
    assert [path.name for path in model.parent.iterdir()] == [model.name]


def test_an_environment_without_an_id_must_be_passed_again(tmp_path: Path) -> None:
    path = tmp_path / "corridor.safetensors"
    MFEC(Corridor, capacity=5).learn(20).save(path)
    with pytest.raises(EngramError, match=r"does not say how to make its environment.*load\(path, env\)"):
        load(path)
    assert load(path, Corridor).steps == 20
    with pytest.raises(EngramError, match=r"was trained with .* but the environment has"):
        load(path, "CartPole-v1")


def test_split_and_join_are_inverse() -> None:
    state = {"a": {"x": np.arange(3), "n": 1, "b": {"y": np.zeros((0, 2)), "none": None}}, "text": "t"}
    arrays, plain = split(state)
    back = join(arrays, plain)
    assert back["text"] == "t"
    assert back["a"]["n"] == 1
    assert back["a"]["b"]["none"] is None
    np.testing.assert_array_equal(back["a"]["x"], [0, 1, 2])
    assert back["a"]["b"]["y"].shape == (0, 2)


def test_a_file_cannot_name_a_module_to_import(model: Path) -> None:
    manifest, arrays = read_arrays(model)
    manifest["description"]["env"] = "this:CartPole-v1"
    write_arrays(model, manifest, arrays)
    with pytest.raises(ModelFileError, match=r"does not name a registered environment \('this:CartPole-v1'\)"):
        load(model)
    assert "this" not in sys.modules


def test_a_flipped_bit_is_found(model: Path) -> None:
    content = bytearray(model.read_bytes())
    content[-5] ^= 1
    model.write_bytes(content)
    with pytest.raises(ModelFileError, match="does not match its checksum"):
        load(model)
