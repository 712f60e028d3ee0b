"""Figures of densities: what they show, and that they can be drawn and saved."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from engram.errors import InvalidInputError
from engram.paper.stream.density import Snapshot, densities, evolution, read_snapshots
from engram.paper.stream.experiment import Stream, energy_distance, run_stream, stored
from engram.pictures.canvas import save

SMALL = Stream(points=80, capacity=10, lengths=(), cost_capacities=(20,), cost_writes=100, repetitions=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stream")
    run_stream(path, stream=SMALL, seeds=[5, 6])
    return path


def texts(figure: Figure) -> list[str]:
    """Titles and what stands below them, panel by panel; the last axes are the scale of colours."""
    return [text for axes in figure.axes[:-1] for text in (axes.texts[0].get_text(), axes.get_title())]


def test_snapshots_are_those_of_the_first_seed_with_their_distances(folder: Path) -> None:
    found = {(snapshot.method, snapshot.fraction): snapshot for snapshot in read_snapshots(folder)}
    assert len(found) == 8
    data = SMALL.make(5).all
    kept = stored("dkm", data[:40], capacity=10)
    half = found["dkm", 0.5]
    np.testing.assert_allclose(half.points, kept, rtol=1e-6)
    assert half.to_all == pytest.approx(energy_distance(kept, data), rel=1e-6)
    np.testing.assert_allclose(found["data", 1.0].points, data, rtol=1e-6)
    assert found["data", 1.0].to_all is None


def test_figures_name_every_panel_and_its_distance(folder: Path) -> None:
    snapshots = read_snapshots(folder)
    distances = {
        (some.method, some.fraction): f"E = {some.to_all:.4f}" for some in snapshots if some.to_all is not None
    }
    names = {"batch": "k-means", "kmeans": "kM", "dkm": "DkM", "lru": "LRU"}
    expected = ["data", "", *(text for method in names for text in (names[method], distances[method, 1.0]))]
    assert texts(densities(snapshots[::-1])) == expected
    parts = {0.25: "DkM, 25%", 0.5: "DkM, 50%", 0.75: "DkM, 75%", 1.0: "DkM, 100%"}
    expected = [text for part, name in parts.items() for text in (name, distances["dkm", part])]
    assert texts(evolution(snapshots[::-1])) == expected


def test_panels_share_window_and_colours_and_show_every_point(folder: Path) -> None:
    snapshots = read_snapshots(folder)
    for figure in (densities(snapshots), evolution(snapshots)):
        panels = figure.axes[:-1]
        assert len({(axes.get_xlim(), axes.get_ylim()) for axes in panels}) == 1
        assert len({axes.images[0].get_clim() for axes in panels}) == 1
        (left, right), (bottom, top) = panels[0].get_xlim(), panels[0].get_ylim()
        assert right - left == pytest.approx(top - bottom)
        for snapshot in snapshots:
            assert ((snapshot.points > (left, bottom)) & (snapshot.points < (right, top))).all()


def test_a_density_is_high_where_the_points_are() -> None:
    points = np.random.default_rng(0).normal((0.2, 0.8), 0.02, (50, 2))
    corners = np.array([[0.0, 0.0], [1.0, 1.0]])
    figure = evolution([Snapshot("dkm", 1.0, points), Snapshot("data", 1.0, corners)])
    axes = figure.axes[0]
    density = np.asarray(axes.images[0].get_array())
    row, column = np.unravel_index(density.argmax(), density.shape)
    low, high = axes.get_xlim()
    x, y = (low + (high - low) * (np.array([column, row]) + 0.5) / len(density)).tolist()
    assert (x, y) == pytest.approx((0.2, 0.8), abs=0.03)
    assert texts(figure) == ["DkM, 100%", ""]


def test_figures_are_saved_the_same_every_time(folder: Path, tmp_path: Path) -> None:
    snapshots = read_snapshots(folder)
    for draw in (densities, evolution):
        saved = [save(draw(snapshots), tmp_path / f"{draw.__name__}-{i}") for i in range(2)]
        for one, same in zip(*saved, strict=True):
            assert one.stat().st_size > 5_000
            assert one.read_bytes() == same.read_bytes()


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(InvalidInputError, match="nothing to draw"):
        evolution([Snapshot("lru", 1.0, np.eye(2))])
