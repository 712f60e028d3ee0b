"""Model files: whole or not at all, and never anything but data."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save, save_file

from engram import MFEC, load
from engram.errors import EngramError, InvalidInputError, ModelFileError, StorageError
from engram.files.arrays import DTYPES, FORMAT, VERSION, checksum, header, join, read_arrays, split, write_arrays
from engram.files.disk import write_atomically
from engram.files.pieces import Pieces
from engram.hashing import HASH_NAME
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


def some_arrays() -> dict[str, Any]:
    """Arrays of every type and shape that a file can hold, with names that need care."""
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {"turned": np.arange(12, dtype=np.float32).reshape(3, 4).T}
    for kind, dtype in DTYPES.items():
        for shape in ((3,), (0, 5), (2, 3, 1), ()):
            arrays[f'{len(shape)}/é"\\\n{kind} {shape}'] = np.asarray(100 * rng.random(shape)).astype(dtype)
    return arrays


def test_a_file_has_the_bytes_that_safetensors_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engram.files.arrays.PIECE", 7)
    path, arrays, manifest = (
        tmp_path / "all.safetensors",
        some_arrays(),
        {"text": "ü\u2028\x7f\x01", "plain": [1, None]},
    )
    write_arrays(path, manifest, arrays)
    text = json.dumps({"version": VERSION, "state_hash": HASH_NAME, **manifest})
    whole = {name: array.copy(order="C") for name, array in arrays.items()}
    assert path.read_bytes() == save(whole, {FORMAT: f"{checksum(text, arrays)}\n{text}"})
    for name, array in read_arrays(path)[1].items():
        np.testing.assert_array_equal(array, arrays[name])


def test_pieces_are_written_as_the_array_that_they_make(tmp_path: Path) -> None:
    array = np.arange(30.0).reshape(10, 3)
    pieces = Pieces(array.shape, array.dtype, lambda: iter((array[:4], array[4:4], array[4:])))
    np.testing.assert_array_equal(pieces.whole(), array)
    for name, content in (("whole", array), ("pieces", pieces)):
        arrays, plain = split({"a": {"b": content, "n": 1}})
        write_arrays(tmp_path / name, plain, arrays)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "pieces").read_bytes()


def test_what_a_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="'x' is an array of type complex128, which a file cannot hold"):
        write_arrays(tmp_path / "x", {}, {"x": np.zeros(3, np.complex128)})


@pytest.mark.parametrize("shape", [(0, 2**40), (2**13, 0, 2**13), (2**40, 0)])
def test_an_array_of_no_rows_that_are_huge_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = tmp_path / "wide.safetensors"
    write_arrays(
        path, {}, {"memory/keys": np.zeros((0, 3), np.float32), "x": Pieces(shape, np.dtype("f4"), lambda: iter(()))}
    )
    with pytest.raises(
        ModelFileError, match=r"its array 'x' has no rows, but its shape is .*; a row has at most 16,777,216"
    ):
        read_arrays(path)


def sparse_file(path: Path, size: int) -> Path:
    """A file whose header tells of one array of so many bytes, which takes no room on the disk."""
    text = json.dumps({"version": VERSION})
    head = header({"x": Pieces((size,), np.dtype("u1"), lambda: iter(()))}, f"{checksum(text, {})}\n{text}")
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)
    return path


def test_arrays_that_do_not_fit_into_memory_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sparse_file(tmp_path / "large.safetensors", 8 * 2**30)
    monkeypatch.setattr("engram.files.arrays.available_memory", lambda: 10**9)
    with pytest.raises(ModelFileError, match=r"its arrays take 8.5 GB, and 1.0 GB of memory are available"):
        read_arrays(path)
    with pytest.raises(ModelFileError, match=r"large.safetensors: its arrays take 8.5 GB"):
        load(path)


LIMITED = """
import resource, sys
from pathlib import Path
from engram.errors import ModelFileError
from engram.files.arrays import read_arrays
resource.setrlimit(resource.RLIMIT_AS, (12 * 2**30, 12 * 2**30))
try:
    read_arrays(Path(sys.argv[1]))
except ModelFileError as error:
    print(error)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a limit on memory")
def test_a_limit_on_memory_ends_in_an_error_of_ours_and_no_panic(tmp_path: Path) -> None:
    path = sparse_file(tmp_path / "large.safetensors", 8 * 2**30)
    done = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True)
    assert "there is not enough memory" in done.stdout or "of memory are available" in done.stdout
    assert not done.stderr


def test_a_panic_of_safetensors_is_an_error_of_the_file(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panic = type("PanicException", (BaseException,), {})

    def fail(path: Path, framework: str) -> None:
        raise panic("PyObject pointer is null")

    monkeypatch.setattr("engram.files.arrays.safe_open", fail)
    with pytest.raises(ModelFileError, match="safetensors failed with it"):
        load(model)


def test_types_that_no_model_has_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "half.safetensors"
    text = json.dumps({"version": VERSION})
    head = header({"x": np.zeros(4, np.uint16)}, f"{checksum(text, {})}\n{text}").replace(b'"U16"', b'"BF16"')
    head = (len(head) - 8).to_bytes(8, "little") + head[8:]
    path.write_bytes(head + bytes(8))
    with pytest.raises(ModelFileError, match="its array 'x' is of the type BF16"):
        read_arrays(path)


MEASURE = """
import resource, sys
import numpy as np
from engram import EpisodicMemory
from engram.files.arrays import split, write_arrays
from pathlib import Path
memory = EpisodicMemory(actions=1, key_size=128, capacity=100_000)
rng = np.random.default_rng(0)
for first in range(0, 100_000, 1_000):
    memory.write(0, rng.standard_normal((1_000, 128)), np.zeros(1_000), states=np.arange(first, first + 1_000))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
arrays, plain = split(memory.state_in_pieces())
write_arrays(Path(sys.argv[1]), {"plain": plain}, arrays)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
def test_saving_takes_no_memory_worth_mentioning(tmp_path: Path) -> None:
    path = tmp_path / "large.safetensors"
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    assert path.stat().st_size > 50 * 2**20
    assert int(done.stdout) < 16  # MiB
