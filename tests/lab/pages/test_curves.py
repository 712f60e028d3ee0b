"""Curves of what the logs hold, and pages that show text as it is."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.figure import Figure

from engram.agents.mfec import MFEC, MFECConfig
from engram.lab.pages.curves import Curve, add_legend, learning_curves, spread
from engram.lab.pages.page import Drawing, Facts, Page, Section, Table, Text
from engram.lab.pages.style import Look, looks
from engram.lab.statistics import curve_interval
from engram.pictures.canvas import save
from engram.pictures.colours import INK
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from engram.typing import Doubles


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8).map(sorted))
def test_labels_that_would_overlap_are_moved_apart(heights: list[float]) -> None:
    moved = spread(heights, 0.1)
    assert np.all(np.diff(moved) >= 0.1 - 1e-9)
    assert np.mean(moved) == pytest.approx(np.mean(heights))
    if np.all(np.diff(heights) >= 0.1):
        assert moved == pytest.approx(heights)


def test_curves_hold_what_the_logs_do(tmp_path: Path) -> None:
    runs = [Run(MFEC, "CartPole-v1", MFECConfig(capacity=20, seed=seed), 600, 200, 2) for seed in (0, 1)]
    for run in runs:
        folder = RunFolder(tmp_path / run.id)
        folder.claim(run)
        folder.record(run, run.make_agent())
    curve = Curve.read("LRU", [tmp_path / run.id for run in runs])
    assert curve.steps.tolist() == [200, 400, 600]
    for row, run in zip(curve.returns, runs, strict=True):
        result = RunFolder(tmp_path / run.id).result
        assert result is not None
        assert row.mean() == pytest.approx(result["score"])


def test_curves_without_a_look_have_no_legend() -> None:
    figure = Figure()
    add_legend(figure, {"any strategy"}, {"LRU": Look("#0072B2")})
    assert not figure.legends


@given(arrays(np.float64, (3, 4), elements=st.floats(-500, 500)))
def test_lines_are_means_and_bands_their_intervals(returns: Doubles) -> None:
    curve = Curve("LRU", np.arange(1, 5) * 500, returns)
    axes = learning_curves([curve], {"LRU": Look("#0072B2")}, y_label="Return").axes[0]
    (line,) = axes.lines
    np.testing.assert_allclose(np.asarray(line.get_ydata(), float), returns.mean(axis=0))
    (band,) = axes.collections
    vertices = np.asarray(band.get_paths()[0].vertices, float)
    low, _, high = curve_interval(returns)
    for step, *bounds in zip(curve.steps, low, high, strict=True):
        here = vertices[vertices[:, 0] == step, 1]
        np.testing.assert_allclose([here.min(), here.max()], bounds, atol=1e-9)


def test_two_seeds_have_no_band() -> None:
    curve = Curve("LRU", np.arange(1, 4), np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]))
    axes = learning_curves([curve], {"LRU": Look("#0072B2")}, y_label="Return").axes[0]
    assert len(axes.lines) == 1
    assert not axes.collections


def test_figures_are_the_same_bytes_every_time(tmp_path: Path) -> None:
    styles = looks(["lru", "dkm:decay=0.1"])
    curves = [Curve(name, np.array([500, 1000]), np.array([[1.0, 2.0], [2.0, 4.0]])) for name in styles]
    for name in ("one", "two"):
        saved = save(learning_curves(curves, styles, y_label="Return"), tmp_path / name)
        texts = {text.text for text in ElementTree.parse(saved.svg).iter("{http://www.w3.org/2000/svg}text")}
        assert {"LRU", "DkM (decay 0.1)", "Return", "Training (environment steps)"} <= texts
        assert saved.png.read_bytes().startswith(b"\x89PNG")
    for suffix in (".svg", ".png"):
        assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


def test_pages_show_text_as_it_is() -> None:
    svg = f'<?xml version="1.0"?><!DOCTYPE svg><svg viewBox="0 0 1 1"><path style="fill: {INK.lower()}"/></svg>'
    table = Table(("a & b",), [("<i>",)], "Scores", colours=["#000000"], note="n")
    facts = Facts({"Seeds": ["0"]}, ["run 'it'"])
    html = Page("A < B", [Text("x > y"), Drawing([svg], 'say "so"'), Section("S", [table]), facts]).html()
    root = ElementTree.fromstring(html[html.index("<main") : html.index("<script>")])
    assert [root.findtext(tag) for tag in ("h1", "p")] == ["A < B", "x > y"]
    drawing = root.find("figure//*[@role='img']")
    assert drawing is not None
    assert drawing.get("aria-label") == 'say "so"'
    assert "currentColor" in ElementTree.tostring(drawing, "unicode")
    assert {"<i>", "a & b", "'it'"} <= {text.strip() for text in root.itertext()}


def test_without_matplotlib_the_extra_is_named() -> None:
    code = "import sys; sys.modules['matplotlib'] = None; import engram.lab.pages.page; import engram.lab.pages.curves"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'MissingExtraError: figures need matplotlib: pip install "engram-rl[report]"' in done.stderr


def test_neither_the_library_nor_the_runner_needs_matplotlib() -> None:
    code = "import sys, engram.cli, engram.lab.runner; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
