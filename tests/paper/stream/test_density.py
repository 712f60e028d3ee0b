"""Figures of densities: what they show, and that they can be drawn and saved."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from engram.errors import InvalidInputError
from engram.paper.stream.costs import Timing
from engram.paper.stream.density import Snapshot, densities, evolution, read_snapshots
from engram.paper.stream.experiment import Stream, energy_distance, run_stream, stored, watched
from engram.pictures.canvas import save

TIMING = Timing(capacities=(20,), dimensions=(2,), rounds=1, numbers=100)
SMALL = Stream(points=80, capacity=10, lengths=(), watched=40, timing=TIMING)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stream")
    run_stream(path, stream=SMALL, seeds=[5, 6])
    return path


def texts(figure: Figure) -> list[str]:
    """The distances of the panels; the last axes are the scale of colours."""
    return [axes.get_title() for axes in figure.axes[:-1]]


def headings(figure: Figure) -> list[str]:
    """What stands above the columns and beside the rows."""
    above = [text.get_text() for axes in figure.axes[:-1] for text in axes.texts]
    return above + [axes.get_ylabel() for axes in figure.axes[:-1] if axes.get_ylabel()]


def of_length(snapshots: list[Snapshot], length: int) -> list[Snapshot]:
    return [snapshot for snapshot in snapshots if snapshot.length == length]


def test_snapshots_are_those_of_the_first_seed_with_their_distances(folder: Path) -> None:
    found = {(each.length, each.method, each.fraction): each for each in read_snapshots(folder)}
    assert len(found) == (1 + 5) + 4 * 4, "the stream and what is kept of it, and four strategies at four times"
    data = SMALL.make(5).all
    np.testing.assert_allclose(found[80, "data", 1.0].points, data, rtol=1e-6)
    assert found[80, "data", 1.0].to_all is None
    long = watched(SMALL)[0].make(5).all
    for length, method, part, stream in ((80, "dkm", 1.0, data), (400, "fading", 0.525, long)):
        kept = stored(method, stream[: round(part * length)], capacity=10)
        snapshot = found[length, method, part]
        np.testing.assert_allclose(snapshot.points, kept, rtol=1e-6)
        assert snapshot.to_all == pytest.approx(energy_distance(kept, stream), rel=1e-6)


def test_figures_name_every_panel_and_its_distance(folder: Path) -> None:
    snapshots, names = of_length(read_snapshots(folder), 400), {"kmeans": "kM", "fading": "Fading", "dkm": "DkM"}
    names["lru"] = "LRU"
    all_distances = {(some.method, some.fraction): f"E = {some.to_all:.4f}" for some in snapshots if some.to_all}
    figure = evolution(snapshots[::-1])
    assert headings(figure) == ["200 points", "210 points", "300 points", "400 points", *names.values()]
    assert texts(figure) == [all_distances[method, part] for method in names for part in (0.5, 0.525, 0.75, 1.0)]
    snapshots = of_length(read_snapshots(folder), 80)
    distances = {some.method: f"E = {some.to_all:.4f}" for some in snapshots if some.to_all and some.fraction == 1}
    figure = densities(snapshots[::-1])
    assert headings(figure) == ["data", "k-means", *names.values()]
    assert texts(figure) == ["", distances["batch"], *(distances[method] for method in names)]


def test_panels_share_window_and_colours_and_show_every_point(folder: Path) -> None:
    for length, draw in ((80, densities), (400, evolution)):
        figure = draw(of_length(read_snapshots(folder), length))
        panels = figure.axes[:-1]
        assert len({(axes.get_xlim(), axes.get_ylim()) for axes in panels}) == 1
        assert len({axes.images[0].get_clim() for axes in panels}) == 1
        (left, right), (bottom, top) = panels[0].get_xlim(), panels[0].get_ylim()
        assert right - left == pytest.approx(top - bottom)
        for axes in panels:
            shown = np.asarray(axes.collections[0].get_offsets())
            assert len(shown)
            assert ((shown > (left, bottom)) & (shown < (right, top))).all()


def test_a_density_is_high_where_the_points_are() -> None:
    points = np.random.default_rng(0).normal((0.2, 0.8), 0.02, (50, 2))
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    figure = densities([Snapshot("dkm", 1.0, points), Snapshot("data", 1.0, corners)])
    axes = figure.axes[1]
    density = np.asarray(axes.images[0].get_array())
    row, column = np.unravel_index(density.argmax(), density.shape)
    low, high = axes.get_xlim()
    x, y = (low + (high - low) * (np.array([column, row]) + 0.5) / len(density)).tolist()
    assert (x, y) == pytest.approx((0.2, 0.8), abs=0.03)
    assert headings(figure) == ["data", "DkM"]


@pytest.mark.slow
def test_figures_are_saved_the_same_every_time(folder: Path, tmp_path: Path) -> None:
    for length, draw in ((80, densities), (400, evolution)):
        snapshots = of_length(read_snapshots(folder), length)
        saved = [save(draw(snapshots), tmp_path / f"{draw.__name__}-{i}") for i in range(2)]
        for one, same in zip(*saved, strict=True):
            assert one.stat().st_size > 5_000
            assert one.read_bytes() == same.read_bytes()


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(InvalidInputError, match="nothing to draw"):
        evolution([Snapshot("batch", 1.0, np.eye(2))])
