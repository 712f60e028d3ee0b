"""The report on the stream: its page, its figures, and its tables as evidence for claims."""

from pathlib import Path

import pytest

from engram.lab.reports import find_report, read_evidence
from engram.paper.registry import STUDIES
from engram.paper.stream.costs import Timing
from engram.paper.stream.experiment import Stream, run_stream
from tests.lab.pages.synthetic import declare, results
from tests.lab.pages.test_study_page import Reader


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stream")
    timing = Timing(capacities=(20,), dimensions=(2, 3), neighbours=4, rounds=2, numbers=100)
    tiny = Stream(points=80, capacity=10, lengths=(2, 6), watched=22, timing=timing)
    run_stream(folder, stream=tiny, seeds=[5, 6, 7])
    return folder


def test_the_report_on_the_stream(streamed: Path, tmp_path: Path) -> None:
    path = find_report(streamed, tmp_path, STUDIES).write()
    html = path.read_text()
    reader = Reader(html)
    assert all(link.startswith(("#", "data:")) for link in reader.links)
    assert html.count("<figure") == 3
    assert {each.name for each in (tmp_path / "figures").iterdir()} == {
        f"{name}.{kind}" for name in ("densities", "evolution", "lengths") for kind in ("svg", "png")
    }
    assert "kM, Fading, DkM and LRU see them one by one" in html
    assert "a stream of 220 points, 22 times as many as are kept: after half of it" in html
    assert [row[0] for row in reader.tables[""][1:]] == ["14", "17"]
    distances = reader.tables["Energy distance, mean ± standard deviation over 3 seeds"]
    assert [row[:2] for row in distances[1:]] == [
        ["k-means", "100%"],
        *([name, part] for name in ("kM", "Fading", "DkM", "LRU") for part in ("25%", "50%", "75%", "100%")),
    ]
    costs = reader.tables["Time per point, one core, 2 rounds"]
    assert [row[:3] for row in costs[1:]] == [["2", "20", "4"], ["3", "20", "4"]]
    assert "Seeds 3, from 5 on" in reader.text
    assert "Timing capacities 20; dimensions 2, 3; neighbours 4; rounds 2; numbers 100" in reader.text
    assert "Correlation −0.5" in reader.text
    assert "−0.000" not in reader.text
    assert "{" not in reader.text
    again = find_report(tmp_path, tmp_path, STUDIES).write()  # from the folder that the first one made
    assert again.read_text() == html


def test_evidence_is_read_from_all_folders(streamed: Path, tmp_path: Path) -> None:
    study = STUDIES["cartpole"].only(agents=["mfec"], sizes=(50,), seeds=(0, 1))
    results(study, lambda cell, seed: 1.0, places=declare(study, tmp_path)).export(tmp_path)
    evidence = read_evidence([tmp_path, streamed], STUDIES)
    assert set(evidence.tables) == {"stream/distances", "stream/lengths", "stream/costs"}
    assert [study.study for study in evidence.studies] == ["cartpole"]
    assert evidence.scores("CartPole-v1", "mfec", "kmeans", 50) is not None
