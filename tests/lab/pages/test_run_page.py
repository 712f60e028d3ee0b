"""The page of single runs: what it tells is what the folders hold, and it needs nothing but itself."""

import json
import re
import shutil
from pathlib import Path

import pytest

from engram.cli import main
from engram.lab.pages.run_page import RunReport
from engram.runs.finished import shown_score
from tests.faults.power import CADENCE, TINY
from tests.faults.storage import OTHER, interrupted
from tests.faults.tally import finish
from tests.lab.pages.browser import ask, needs_browser
from tests.lab.pages.test_browser import MEASURE


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A finished run with metrics and a film, another finished one, and an interrupted one."""
    place = tmp_path_factory.mktemp("runs")
    finish(TINY, place / "one", CADENCE)
    finish(OTHER, place / "two", CADENCE)
    interrupted(TINY, place / "half", at=70)
    log = place / "one" / "progress.jsonl"
    lines = [
        json.loads(line)
        | {"metrics": {"writes/merged": 0.0, "reads/exact": number / 100, "fill/0": number / 100, "fill/1": 0}}
        for number, line in enumerate(log.read_text().splitlines())
    ]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (place / "one" / "play.gif").write_bytes(b"GIF89a")
    return [place / name for name in ("one", "two", "half")]


def test_the_page_of_one_run(folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folders[0]), "--out", str(tmp_path)]) == 0
    html = (tmp_path / "index.html").read_text()
    score = json.loads((folders[0] / "result.json").read_text())["score"]
    assert f"<h1>MFEC in CartPole-v1: score {shown_score(score)}</h1>" in html
    assert "MFEC with LRU and 10 entries per action, seed 1, trained for 90 steps" in html
    for told in (
        "reads/exact",
        "The share of states that are in the table of the action taken",
        "fill/0 … fill/1",
        "data:image/gif;base64,R0lGODlh",
        "neighbours",
    ):
        assert told in html
    assert f"engram train --resume {folders[0]} --steps 180" in re.sub(r"</?span>", "", html)
    assert not re.search(r'(src|href)="(?!data:|#)', html)
    constant = re.search(r"The same from beginning to end.*?</table>", html, re.DOTALL)
    assert constant is not None
    assert "writes/merged" in constant[0]
    assert '<td data-label="value">0</td>' in constant[0]
    assert "reads/exact" not in constant[0]
    figures = tmp_path / "figures"
    assert (figures / "returns.svg").exists()
    assert (figures / "metric-reads-exact.svg").exists()
    assert not (figures / "metric-writes-merged.svg").exists()
    assert "the mean return of all its 3 evaluations" in html
    assert "the band goes from the lowest to the highest of them; dots are episodes of training" in html
    keys = dict(re.findall(r'<li data-key="([^"]*)"><svg class="key"[^>]*>(.*?)</svg>', html))
    assert keys["training episodes"].count("<circle ") == 1
    assert 'fill="#8a939c"' in keys["training episodes"]
    assert re.fullmatch(r'<rect [^>]*fill="#d55e00" opacity="0.15"/>', keys["lowest to highest"])
    assert re.fullmatch(r'<line [^>]*stroke="#d55e00"[^>]*/>', keys["evaluations, mean"])
    assert {"training episodes", "lowest to highest", "evaluations, mean"} <= set(
        re.findall(r'<g data-series="([^"]*)"', html)
    )
    assert (tmp_path / "README.md").read_text().startswith("# MFEC in CartPole-v1")


def test_the_page_of_several_runs_shows_them_side_by_side(folders: list[Path], tmp_path: Path) -> None:
    assert main(["report", *map(str, folders), "--out", str(tmp_path)]) == 0
    html = (tmp_path / "index.html").read_text()
    assert "<h1>3 runs: MFEC in CartPole-v1</h1>" in html
    assert "half is interrupted: 60 of 90 steps are saved" in html
    rows = re.findall(r"<tr><th scope=\"row\".*?</tr>", html)
    assert sum("MFEC with LRU" in row for row in rows) == 3
    assert re.search(r"<th scope=\"row\" data-label=\"setting\">seed</th>", html)
    assert "Striped, because they lie on each other: one and half." in html  # as far as the interrupted one got


@pytest.mark.slow
@needs_browser
def test_the_page_of_several_runs_fits_the_screen(folders: list[Path], tmp_path: Path) -> None:
    named = [shutil.copytree(folder, tmp_path / f"cartpole-mfec-lru-10-s1-{folder.name}-4a3773") for folder in folders]
    html = RunReport.read(named, tmp_path / "report").write().read_text()
    for width in (1100, 390):
        found = ask(html, MEASURE, tmp_path, width=width)
        assert (found["inner"], found["scroll"], found["beyond"], found["cut"]) == (width, width, [], [])


def test_without_out_a_run_has_its_page_in_its_folder_and_goes_on_as_before(
    folders: list[Path], tmp_path: Path
) -> None:
    run = shutil.copytree(folders[2], tmp_path / "half")
    assert main(["report", str(run)]) == 0
    assert (run / "report" / "index.html").exists()
    assert main(["train", "--resume", str(run), "--no-progress"]) == 0


def test_runs_of_one_name_are_told_apart_and_pictures_become_part_of_the_page(
    folders: list[Path], tmp_path: Path
) -> None:
    other = shutil.copytree(folders[0], tmp_path / "one")
    report = RunReport.read([folders[0], other], tmp_path / "out")
    assert [run.name for run in report.runs] == [f"{path.parent.name}/one" for path in (folders[0], other)]
    html = report.write().read_text()
    for run in report.runs:
        assert f"What {run.name} remembers</h2>" in html
    drawn = [path.name for path in (tmp_path / "out" / "figures").glob("*.svg")]
    assert len([name for name in drawn if name.startswith("0-")]) == len([n for n in drawn if n.startswith("1-")]) > 1


def test_a_study_among_runs_and_nothing_at_all_are_answered(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.json").write_text("{}")
    assert main(["report", str(folders[0]), str(tmp_path)]) == 2
    assert "is a study, which has a page of its own" in " ".join(capsys.readouterr().err.split())
    assert main(["report"]) == 2
    assert main(["report", str(folders[0].parent)]) == 2
    assert "is not a run, but holds some" in " ".join(capsys.readouterr().err.split())
    assert main(["report", str(folders[0].parent / "nowhere")]) == 2
    assert "there is no folder" in " ".join(capsys.readouterr().err.split())
