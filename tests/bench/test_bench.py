"""`engram bench`: contests are fair, what it says of them is what was measured, and results can be compared."""

import io
import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engram.bench.contest import Row, compare, count_for, mean_of_rows, race
from engram.bench.reading import contest
from engram.bench.real_keys import tables_of
from engram.bench.speeds import Outcome, changes, read_comparable, read_outcome
from engram.cli import main
from engram.commands.bench import measurable
from engram.commands.screen import Console
from engram.errors import InvalidInputError, MissingExtraError, Stopped


def row(ratio: float, name: str = "work", spread: float = 0.01) -> Row:
    return Row("group", name, 1.0, "peer", ratio, ratio, ratio - spread, ratio + spread)


def test_contenders_take_turns_and_do_as_much_as_they_are_asked() -> None:
    done: list[tuple[str, int]] = []
    works = {name: lambda count, name=name: done.append((name, count)) for name in ("a", "b")}
    times = race(works, {"a": 3, "b": 5}, 2)
    assert done == [("a", 3), ("b", 5)] * 2
    assert {name: len(each) for name, each in times.items()} == {"a": 2, "b": 2}


def test_a_ratio_is_the_median_of_the_rounds_ratios() -> None:
    found = compare(
        {"fast": [1.0, 2.0, 10.0], "slow": [3.0, 4.0, 5.0]}, "fast", "slow", group="g", name="n", peer="p", asked=1.5
    )
    assert (found.ratio, found.ours, found.theirs) == (2.0, 2e6, 4e6)  # 3, 2 and 0.5
    assert found.low <= found.ratio <= found.high
    both = mean_of_rows([row(2.0), row(8.0)], name="both", asked=3)
    assert both.ratio == pytest.approx(4.0)


def test_work_is_counted_to_fill_the_time() -> None:
    assert 5 <= count_for(lambda count: time.sleep(0.002 * count), 0.04) <= 40


def test_what_is_slow_only_once_does_not_count_as_slow() -> None:
    first = [0.1]
    assert count_for(lambda count: time.sleep(0.002 * count + (first.pop() if first else 0)), 0.04) >= 5


def test_the_memory_finds_what_faiss_finds_in_every_contest() -> None:
    rng = np.random.default_rng(0)
    tables = rng.standard_normal((2, 300, 4), np.float32)
    found = contest(tables, tables[0, :20], 5, "tiny", rounds=2, seconds=0.002, asked={})
    assert [(each.peer, each.name) for each in found] == [("FAISS flat", "tiny")]
    wide = tables_of(rng.standard_normal((2_000, 128), np.float32), 400)
    assert wide.shape == (6, 400, 128)
    assert len(np.unique(wide.reshape(-1, 128), axis=0)) == 2_400
    peers = [each.peer for each in contest(wide, wide[0, :9], 3, "wide", rounds=1, seconds=0.002, asked={"x": 1.0})]
    assert peers[:2] == ["FAISS flat", "FAISS Panorama"]


def test_results_are_written_read_and_compared(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    before = [row(4.0, "kept"), row(4.0, "worse"), row(4.0, "noisy", spread=3), row(4.0, "gone")]
    outcome = Outcome(before, seed=3, rounds=5, machine={"processor": "Abacus", "platform": "Table", "python": "3"})
    outcome.write(path)
    assert read_outcome(path) == outcome
    page = path.with_suffix(".md").read_text()
    assert "| kept | 1.0 | peer | 4.0 | 4.00 |" in page
    assert "Made by `engram bench`, one core of Abacus, Table." in page
    now = [row(4.1, "kept"), row(2.0, "worse"), row(2.0, "noisy", spread=3), row(1.0, "new")]
    said = {each.name: (round(change, 3), slower) for each, change, slower in changes(outcome.rows, now)}
    assert said == {"kept": (1.025, False), "worse": (0.5, True), "noisy": (0.5, False)}


@pytest.mark.parametrize("quick", [False, True])
def test_what_was_measured_quickly_is_not_compared_with_what_was_not(quick: bool, tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    Outcome([row(4.0)], seed=0, rounds=1, quick=quick).write(path)
    assert ("Made by `engram bench --quick`" in path.with_suffix(".md").read_text()) == quick
    assert read_comparable(path, quick=quick).quick == quick
    with pytest.raises(InvalidInputError, match="leave out --quick" if not quick else "give --quick too"):
        read_comparable(path, quick=not quick)
    with pytest.raises(InvalidInputError, match="is not there; give a file that"):
        read_comparable(tmp_path / "other.json", quick=quick)


def test_files_of_before_lengths_were_kept_are_of_whole_measurements(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    content = Outcome([row(4.0)], seed=0, rounds=1).to_json()
    del content["quick"]
    path.write_text(json.dumps(content))
    assert not read_outcome(path).quick


def test_what_cannot_be_measured_is_left_out_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    progress = Console(file=said, width=200, markup=False)
    assert measurable(None, progress) == ["reading", "training", "playing"]
    assert said.getvalue() == ""
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert measurable(None, progress) == ["training", "playing"]
    monkeypatch.setitem(sys.modules, "ale_py", None)
    assert measurable(None, progress) == ["training"]
    assert said.getvalue().splitlines() == [
        'reading is left out, as it needs faiss: pip install "engram-rl[bench]"',
        'reading is left out, as it needs faiss and ale_py: pip install "engram-rl[bench,atari]"',
        'playing is left out, as it needs ale_py: pip install "engram-rl[atari]"',
    ]
    assert measurable(["training"], progress) == ["training"]
    with pytest.raises(MissingExtraError, match=r"measuring playing needs ale_py: pip install \"engram-rl\[atari\]"):
        measurable(["training", "playing"], progress)


def test_the_committed_page_is_that_of_the_committed_file() -> None:
    path = Path(__file__).parents[2] / "results/bench.json"
    assert read_outcome(path).page() == path.with_suffix(".md").read_text()


def test_a_file_of_something_else_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.json"
    good = json.dumps(row(2.0).to_json())
    wrong = [f'{{"rows": [{good.replace(a, b)}]}}' for a, b in (("2.0", "0"), ("2.0", "null"), ('"peer"', "[]"))]
    for content in ("{}", "[]", "no", '{"rows": [1]}', "[" * 100_000, *wrong):
        other.write_text(content)
        with pytest.raises(InvalidInputError, match="is not a file that `engram bench --out` wrote"):
            read_outcome(other)
    for out in ("x.md", "", "no/folder/x.json"):
        assert main(["bench", "--out", str(tmp_path / out)]) == 2
    assert main(["bench", "--compare", str(other)]) == 2
    assert "is not a file that" in " ".join(capsys.readouterr().err.split())


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("engram.bench.training.rows", lambda **_: pytest.fail("it was measured"))
    monkeypatch.setattr("engram.bench.speeds.TemporaryFile", full)
    assert main(["bench", "--only", "training", "--out", str(tmp_path / "bench.json")]) == 2
    assert "cannot be written (No space left on device); choose another folder" in " ".join(
        capsys.readouterr().err.split()
    )


def test_what_is_not_installed_is_told_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for group in ("reading", "training", "playing"):
        monkeypatch.setattr(f"engram.bench.{group}.rows", lambda **_: pytest.fail("it was measured"))
    for module, group, extra in (("faiss", "reading", "bench"), ("ale_py", "playing", "atari")):
        with monkeypatch.context() as absent:
            absent.setitem(sys.modules, module, None)
            assert main(["bench", "--only", "training", group]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert f'measuring {group} needs {module}: pip install "engram-rl[{extra}]"' in said


def test_a_measurement_that_was_stopped_does_not_say_that_it_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(**_: object) -> Iterator[Row]:
        yield row(2.0)
        raise Stopped("what is finished is kept", signal.SIGINT)

    monkeypatch.setattr("engram.bench.training.rows", stopped)
    assert main(["bench", "--only", "training", "--out", str(tmp_path / "bench.json")]) == 130
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "group: work beside peer: 2.00",
        "stopped; nothing was written, and the same command measures everything again",
    ]
    assert not list(tmp_path.iterdir())
