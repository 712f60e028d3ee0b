"""The study of a stream of points: the data, the distance, what is kept, and what is written down."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import energy_distance as root_of_energy_distance

from engram.errors import InvalidInputError, RunFolderError
from engram.paper.stream.costs import Cost, Timing, measure_costs
from engram.paper.stream.experiment import (
    Stream,
    energy_distance,
    measure,
    measure_lengths,
    measure_times,
    run_stream,
    stored,
)
from engram.typing import Doubles, Floats
from tests.examples import examples
from tests.memory.oracle import Table

TIMING = Timing(capacities=(20, 30), dimensions=(2, 5), neighbours=3, rounds=2, numbers=100)
SMALL = Stream(points=80, capacity=10, lengths=(2, 6), watched=22, timing=TIMING)
FILES = ("study.json", "distances.csv", "lengths.csv", "times.csv", "points.csv", "costs.csv", "meta.json")


def samples(dims: int) -> st.SearchStrategy[Doubles]:
    return arrays(np.float64, st.tuples(st.integers(1, 12), st.just(dims)), elements=st.floats(-10, 10, width=32))


@examples(30)
@given(samples(2), samples(2))
def test_energy_distance_is_its_definition(x: Doubles, y: Doubles) -> None:
    def mean(a: Doubles, b: Doubles) -> float:
        return sum(float(np.hypot(*(p - q))) for p in a for q in b) / (len(a) * len(b))

    assert energy_distance(x, y) == pytest.approx(2 * mean(x, y) - mean(x, x) - mean(y, y), abs=1e-9)


@examples(30)
@given(samples(1), samples(1))
def test_energy_distance_in_one_dimension_is_the_square_of_scipys(x: Doubles, y: Doubles) -> None:
    assert energy_distance(x, y) == pytest.approx(root_of_energy_distance(x[:, 0], y[:, 0]) ** 2, abs=1e-9)


def test_energy_distance_of_a_sample_to_itself_in_any_order_is_0() -> None:
    x = np.random.default_rng(0).standard_normal((700, 2))  # more than are held at a time
    assert energy_distance(x, x) == 0
    assert energy_distance(x, x[::-1]) == pytest.approx(0, abs=1e-12)
    assert energy_distance(x, x + 0.1) > 1e-4


def test_skew_normal_has_the_moments_of_the_closed_form() -> None:
    """Mean ξ + ω μ with μ = √(2/π) δ and covariance ω (Ω̄ − μ μᵀ) ω, where δ = Ω̄ α / √(1 + αᵀ Ω̄ α)."""
    stream = Stream()
    omega = np.array([[1, stream.correlation], [stream.correlation, 1]])
    shape, scale = np.array(stream.shape), np.array(stream.scale)
    delta = omega @ shape / np.sqrt(1 + shape @ omega @ shape)
    mean = np.sqrt(2 / np.pi) * delta
    drawn = stream.skew_normal(np.random.default_rng(0), 200_000)
    np.testing.assert_allclose(drawn.mean(axis=0), stream.location + scale * mean, rtol=0, atol=2e-3)
    np.testing.assert_allclose(np.cov(drawn.T), np.outer(scale, scale) * (omega - np.outer(mean, mean)), atol=5e-4)


def test_a_seed_determines_the_stream() -> None:
    one, same, other = SMALL.make(1), SMALL.make(1), SMALL.make(2)
    for half, again, different in zip(one, same, other, strict=True):
        assert half.shape == (40, 2)
        assert half.dtype == np.float32
        np.testing.assert_array_equal(half, again)
        assert (half != different).any()


def test_the_first_half_is_the_grid_and_in_random_order() -> None:
    first = replace(SMALL, points=50, grid_low=-1.0, grid_high=4.0).make(0).first
    assert sorted(map(tuple, first.tolist())) == [(x - 0.5, y - 0.5) for x in range(5) for y in range(5)]
    assert sorted(map(tuple, first.tolist())) != list(map(tuple, first.tolist()))


@pytest.mark.parametrize(
    "wrong",
    [{"points": 81}, {"points": 0}, {"capacity": 0}, {"capacity": 81}, {"correlation": 1.0}, {"watched": 21}],
)
def test_what_cannot_be_a_stream_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        replace(SMALL, **wrong)


def test_lru_keeps_the_last_distinct_points() -> None:
    points = np.random.default_rng(0).integers(0, 5, (200, 2)).astype(np.float32)
    last = list(dict.fromkeys(map(tuple, points[::-1].tolist())))[:7]
    assert {tuple(point) for point in stored("lru", points, capacity=7).tolist()} == set(last)


@pytest.mark.parametrize("strategy", ["kmeans", "dkm", "fading"])
def test_clusters_are_those_of_the_oracle(strategy: str) -> None:
    points = SMALL.make(0).all
    table = Table(SMALL.capacity, strategy)
    for clock, point in enumerate(points):
        table.write(point, np.float32(0), clock, clock)  # no point comes twice: each is a state of its own
    expected = np.array([entry.key for entry in table.entries])
    np.testing.assert_array_equal(stored(strategy, points, capacity=SMALL.capacity), expected)
    assert strategy != "dkm" or table.replaced


def test_batch_does_not_depend_on_the_order_by_more_than_chance() -> None:
    points = Stream(points=400, capacity=20).make(0).all
    centres, reversed_centres = (stored("batch", some, capacity=20) for some in (points, points[::-1].copy()))
    assert centres.shape == (20, 2)
    assert energy_distance(centres, reversed_centres) < 0.01


def test_the_paper_s_picture() -> None:
    """kM stays with the first half, LRU goes to the second, DkM lies between and nearest to all of the three."""
    rows = {(row.method, row.fraction): row for row in measure(Stream(), [0])}
    online = ("lru", "kmeans", "dkm", "fading")
    assert set(rows) == {("batch", 1.0)} | {(method, part) for method in online for part in (0.25, 0.5, 0.75, 1.0)}
    lru, kmeans, dkm = (rows[method, 1.0] for method in ("lru", "kmeans", "dkm"))
    assert kmeans.to_first < dkm.to_first < lru.to_first
    assert lru.to_second < dkm.to_second < kmeans.to_second
    assert dkm.to_all < min(lru.to_all, kmeans.to_all) / 2


def test_a_long_stream_leaves_dkm_as_near_to_the_first_half_as_lru_is() -> None:
    stream = Stream(capacity=50, points=200, lengths=(4, 30))
    rows = {(row.points, row.method): row.to_first for row in measure_lengths(stream, [0])}
    assert rows[200, "dkm"] < 0.8 * rows[200, "lru"]
    assert rows[1500, "dkm"] > 0.9 * rows[1500, "lru"]
    assert len(rows) == 10


def test_fading_holds_the_first_half_long_after_dkm_has_let_it_go_and_lets_it_go_in_the_end() -> None:
    rows = {(row.method, row.fraction): row for row in measure_times(Stream(capacity=20, points=80, watched=100), 0)}
    online, times = ("lru", "kmeans", "dkm", "fading"), (0.5, 0.51, 0.6, 1.0)
    assert set(rows) == {(method, part) for method in online for part in times}
    assert rows["fading", 0.6].to_first < rows["fading", 0.6].to_second
    assert rows["dkm", 0.6].to_second < rows["dkm", 0.6].to_first
    assert rows["fading", 1.0].to_second < rows["kmeans", 1.0].to_second
    assert rows["fading", 1.0].to_second < rows["fading", 0.6].to_second


def test_costs_are_times_of_every_round_at_every_table() -> None:
    rows = measure_costs(TIMING, 0)
    tables = [(capacity, dimensions) for dimensions in (2, 5) for capacity in (20, 30)]
    assert [row[:4] for row in rows] == [(i, *table, 3) for table in tables for i in (0, 1)]
    assert all(min(row[4:]) > 0 for row in rows)
    assert Cost._fields == ("round", "capacity", "dimensions", "neighbours", "lookup_us", "kmeans_us", "dkm_us")


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}


def test_run_stream_writes_its_files_once_and_the_same_every_time(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        run_stream(folder, stream=SMALL, seeds=[3, 4])
    before = contents(one)
    assert set(before) == set(FILES)
    for name in ("study.json", "distances.csv", "lengths.csv", "times.csv", "points.csv"):
        assert before[name][1] == (other / name).read_bytes()
    run_stream(one, stream=SMALL, seeds=[3, 4])
    assert contents(one) == before
    (one / "points.csv").unlink()
    run_stream(one, stream=SMALL, seeds=[3, 4])
    after = contents(one)
    assert {name for name in FILES if after[name][0] != before[name][0]} == {"points.csv", "meta.json"}
    assert after["points.csv"][1] == before["points.csv"][1]


def test_what_run_stream_writes_is_what_was_measured(tmp_path: Path) -> None:
    run_stream(tmp_path, stream=SMALL, seeds=[3, 4])
    header, *lines = (tmp_path / "distances.csv").read_text().splitlines()
    assert header == "points,seed,method,fraction,to_first,to_second,to_all"
    for line, row in zip(lines, measure(SMALL, [3, 4]), strict=True):
        points, seed, method, *numbers = line.split(",")
        assert (int(points), int(seed), method) == (row.points, row.seed, row.method)
        assert [float(number) for number in numbers] == pytest.approx(row[3:], rel=1e-6)
    header, *lines = (tmp_path / "points.csv").read_text().splitlines()
    assert header == "points,method,fraction,x,y"
    assert sum(line.startswith("80,data,1,") for line in lines) == SMALL.points
    kept: Floats = np.array([line.split(",")[3:] for line in lines if line.startswith("80,lru,1,")], np.float32)
    expected = stored("lru", SMALL.make(3).all, capacity=SMALL.capacity)
    np.testing.assert_allclose(kept, expected, rtol=1e-6)
    assert (tmp_path / "costs.csv").read_text().splitlines()[0] == ",".join(Cost._fields)
    study = json.loads((tmp_path / "study.json").read_text())
    assert (study["study"], study["seeds"], study["parameters"]["capacity"]) == ("stream", [3, 4], 10)


def test_other_seeds_are_measured_anew_and_other_parameters_refused(tmp_path: Path) -> None:
    run_stream(tmp_path, stream=SMALL, seeds=[3])
    times = (tmp_path / "costs.csv").read_bytes()
    run_stream(tmp_path, stream=SMALL, seeds=[3, 4])
    assert len((tmp_path / "distances.csv").read_text().splitlines()) == 1 + 2 * 17
    assert (tmp_path / "costs.csv").read_bytes() == times
    before = contents(tmp_path)
    with pytest.raises(RunFolderError, match="other parameters"):
        run_stream(tmp_path, stream=replace(SMALL, capacity=11), seeds=[3, 4])
    with pytest.raises(InvalidInputError, match="seeds"):
        run_stream(tmp_path, stream=SMALL, seeds=[])
    assert contents(tmp_path) == before
