"""The page in a browser: nothing goes wrong, something is drawn, and a narrow screen needs no scrolling sideways."""

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from engram.lab.pages.study_page import StudyReport
from engram.paper.registry import STUDIES
from tests.lab.pages.test_study_page import FIGURES, small

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for name in BROWSERS if (path := shutil.which(name))), None)
WIDTHS = (1280, 390)
HEIGHT = 4_000
MEASURE = """<script>
const beyond = [...document.body.querySelectorAll("*")]
  .filter(each => !each.parentElement.closest(".wide") && each.getBoundingClientRect().right > innerWidth + 0.5);
const cut = [...document.querySelectorAll("td, th")].filter(each => each.scrollWidth > each.clientWidth + 1);
parent.document.title = JSON.stringify({
  inner: innerWidth,
  scroll: document.documentElement.scrollWidth,
  beyond: beyond.map(each => each.outerHTML.slice(0, 80)),
  cut: cut.map(each => each.textContent),
  drawings: [...document.querySelectorAll("figure svg")].map(each => each.getBoundingClientRect().width),
  loaded: performance.getEntriesByType("resource").map(each => each.name),
});
</script>"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"none of {', '.join(BROWSERS)} is on the PATH")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with all parts, and what is folded is open."""
    found = small(tmp_path_factory.mktemp("study"))
    path = StudyReport(found, tmp_path_factory.mktemp("report"), STUDIES["cartpole"]).write()
    path.write_text(path.read_text().replace("<details>", "<details open>"))
    return path


def browse(path: Path, width: int, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a page in a browser that nothing is known of yet."""
    assert BROWSER is not None
    usual = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=1000")
    log = ("--enable-logging=stderr", "--v=0", f"--user-data-dir={path.parent / f'profile-{width}'}")
    words = [BROWSER, *usual, *log, f"--window-size={width},{HEIGHT}", *options, path.as_uri()]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)


def complaints(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What a page has to say: one without scripts has nothing to, but for errors."""
    return [line for line in done.stderr.splitlines() if re.search(r":CONSOLE[:(]|Uncaught|net::ERR_", line)]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_drawn_without_complaints(report: Path, width: int) -> None:
    picture = report.with_name(f"{width}.png")
    done = browse(report, width, f"--screenshot={picture}")
    assert done.returncode == 0, done.stderr
    assert complaints(done) == []
    pixels = np.asarray(imread(picture))[..., :3]
    assert pixels.shape[:2] == (HEIGHT, width)
    ink = (pixels != pixels[0, 0]).any(axis=-1)
    assert ink.any(axis=1).sum() > HEIGHT / 3  # rows
    assert ink[:, width // 2 :].any()
    assert not ink[:, :8].any()  # the margins
    assert not ink[:, -8:].any()
    assert len(np.unique((pixels[::8, ::8].reshape(-1, 3) * 255).astype(int), axis=0)) > 50  # colours


@pytest.mark.parametrize("width", WIDTHS)
def test_only_what_is_meant_to_be_scrolled_is_wider_than_the_screen(report: Path, width: int) -> None:
    measured = report.read_text().replace("</body>", f"{MEASURE}</body>")
    frame = report.with_name(f"frame-{width}.html")  # as no window is as narrow as a phone's
    frame.write_text(
        f'<!DOCTYPE html><title></title><iframe width="{width}" height="900" style="border: 0" '
        f'srcdoc="{escape(measured)}"></iframe>'
    )
    done = browse(frame, 1_600, "--dump-dom")
    assert done.returncode == 0, done.stderr
    assert complaints(done) == []
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    assert title is not None
    found: dict[str, Any] = json.loads(unescape(title[1]))
    assert found["inner"] == width
    assert found["scroll"] == width
    assert found["beyond"] == []
    assert found["cut"] == []
    assert found["loaded"] == []
    assert len(found["drawings"]) == len(FIGURES)
    assert min(found["drawings"]) > 450  # none is shrunk until it cannot be read
    assert max(found["drawings"]) <= 900


def test_complaints_would_be_seen(tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text("<!DOCTYPE html><title>it</title><script>nobody()</script>")
    (complaint,) = complaints(browse(broken, 390, "--dump-dom"))
    assert "nobody is not defined" in complaint
