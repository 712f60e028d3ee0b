"""The demo, small: it runs, reuses what is finished, and its page says what the runs' files say."""

import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"


@pytest.fixture(scope="module")
def main() -> Callable[[list[str]], int]:
    found: Any = runpy.run_path(str(DEMO))["main"]
    return lambda options: int(found(options))


NO_ICON = '<link rel="icon" href="data:,">'  # so that no browser asks for one


def scores_by_label(out: Path) -> dict[str, list[float]]:
    """Straight from the files, by the strategy's name in the report."""
    labels = {"lru": "LRU", "kmeans": "kM", "dkm": "DkM", "fading": "Fading"}
    scores: dict[str, list[tuple[int, float]]] = {}
    for folder in out.glob("cartpole-*"):
        settings = json.loads((folder / "config.json").read_text())["settings"]
        name = labels[settings["strategy"]["name"]]
        score = json.loads((folder / "result.json").read_text())["score"]
        scores.setdefault(name, []).append((settings["seed"], score))
    return {name: [score for _, score in sorted(values)] for name, values in scores.items()}


def scores_in_order(scores: dict[str, list[float]]) -> list[list[float]]:
    return [scores[name] for name in ("LRU", "kM", "DkM", "Fading")]


def rows(html: str) -> list[list[str]]:
    return [
        [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line)]
        for line in re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
        if "<td" in line
    ]


def test_one_seed(main: Callable[[list[str]], int], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--out", str(tmp_path), "--seeds", "1", "--steps", "1000", "--jobs", "1"]
    assert main(options) == 0
    scores = scores_by_label(tmp_path)
    assert set(scores) == {"LRU", "kM", "DkM", "Fading"}
    html = (tmp_path / "index.html").read_text()
    cells = {name: [f"{score:.1f}"] * 3 for name, (score,) in scores.items()}
    first, second = rows(html)[:4], rows(html)[4:]
    assert {name: numbers for name, *numbers in first} == cells
    assert second == [["0", *(numbers[0] for _, *numbers in first)]]
    assert not re.search(r"<(link|img|iframe)\b|@import|(src|href)=\"(?!#)|url\((?!#)", html.replace(NO_ICON, ""))
    assert (tmp_path / "learning_curves.png").stat().st_size > 10_000
    assert "<svg" in (tmp_path / "learning_curves.svg").read_text()
    printed = capsys.readouterr().out
    best = max(scores, key=lambda name: scores[name][0])
    assert f"The model of {best}, seed 0, is a file of" in printed
    assert "4 runs of 1,000 steps" in printed
    assert re.search(r"MFEC +50 +" + " +".join(f"{score:.0f}" for (score,) in scores_in_order(scores)), printed)
    assert "chance" in printed

    assert main(options) == 0
    assert "4 of 4 runs were finished before and are reused" in capsys.readouterr().out
    assert (tmp_path / "index.html").read_text() == html


def test_two_seeds_on_two_processes(main: Callable[[list[str]], int], tmp_path: Path) -> None:
    assert main(["--out", str(tmp_path), "--seeds", "2", "--steps", "500", "--jobs", "2"]) == 0
    html = (tmp_path / "index.html").read_text()
    by_seed = rows(html)[4:]
    scores = scores_by_label(tmp_path)
    expected = zip(*scores_in_order(scores), strict=True)
    assert by_seed == [[str(seed), *(f"{value:.1f}" for value in values)] for seed, values in enumerate(expected)]
    assert "2 seeds do not settle that order" in html  # the smallest p of two against two is 1/3


def test_too_few_steps_for_a_score(
    main: Callable[[list[str]], int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--out", str(tmp_path), "--steps", "100"])
    assert "steps must be at least 500, got 100" in capsys.readouterr().err
