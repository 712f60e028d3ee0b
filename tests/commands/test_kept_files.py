"""What was saved is not overwritten by a command that writes something else."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from engram import MFEC
from engram.bench.contest import Row
from engram.cli import main
from engram.lab.evidence import Evidence
from tests.faults.power import CADENCE, TINY
from tests.faults.tally import finish


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run, d, and three that are not, whose pages have no pictures of a memory."""
    folder = tmp_path_factory.mktemp("runs")
    finish(TINY, folder / "d", CADENCE)
    for name in "abc":
        shutil.copytree(folder / "d", folder / name)
        (folder / name / "result.json").unlink()
    return folder


@pytest.fixture
def runs(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "runs")


@pytest.mark.slow
def test_pages_of_several_runs_do_not_replace_each_other(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, c = (str(runs / name) for name in "abc")
    assert main(["report", a, b]) == 0
    assert f"the report is {runs / 'report-a-b' / 'index.html'}" in capsys.readouterr().out
    first = (runs / "report-a-b" / "index.html").read_bytes()
    assert main(["report", a, c]) == 0
    assert (runs / "report-a-b" / "index.html").read_bytes() == first
    assert main(["report", a, b]) == 0  # its own page is made again

    assert main(["report", a, c, "--out", str(runs / "report-a-b")]) == 2
    assert "is there already, and no page about the same" in capsys.readouterr().err
    assert (runs / "report-a-b" / "index.html").read_bytes() == first
    page = first.decode()
    assert f"<span>report</span> <span>{a}</span> <span>{b}</span></code>" in page
    assert main(["report", a, b, "--out", str(runs / "elsewhere")]) == 0
    assert f"<span>--out</span> <span>{runs / 'elsewhere'}</span>" in (runs / "elsewhere" / "index.html").read_text()


def test_a_page_does_not_replace_what_is_none(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "notes").mkdir()
    (runs / "notes" / "README.md").write_text("mine")
    (runs / "study").mkdir()
    (runs / "study" / "study.json").write_text(json.dumps({"study": "mine", "title": "Mine", "runs": {}}))
    for words in (
        ["report", str(runs / "a"), "--out", str(runs / "notes")],
        ["report", str(runs / "study"), "--out", str(runs / "notes")],
        ["inspect", str(runs / "d"), "--out", str(runs / "notes")],
    ):
        assert main(words) == 2
        assert f"{runs / 'notes' / 'README.md'} is there already" in capsys.readouterr().err
    assert [path.name for path in (runs / "notes").iterdir()] == ["README.md"]
    assert (runs / "notes" / "README.md").read_text() == "mine"


def test_a_model_or_an_archive_that_is_there_is_kept(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, archive = str(runs / "d"), runs / "memory.npz"
    model = runs / "b" / "model.safetensors"
    before = model.read_bytes()
    assert main(["export", run, str(archive)]) == 0
    kept = archive.read_bytes()
    assert main(["import", run, str(archive), "--out", str(model)]) == 2
    assert f"{model} is there already, and is not overwritten; choose another name" in capsys.readouterr().err
    assert model.read_bytes() == before
    for policy in ([], ["--policy"]):
        assert main(["export", run, str(archive), *policy]) == 2
        assert "is there already" in capsys.readouterr().err
    assert archive.read_bytes() == kept
    assert main(["import", run, str(archive), "--out", str(runs / "new.safetensors")]) == 0


@pytest.mark.parametrize("kind", ["gif", "mp4"])
def test_a_film_replaces_only_one_of_the_same_agent(
    kind: str, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures = [np.full((40, 40, 3), shade, np.uint8) for shade in (0, 200)]
    monkeypatch.setattr("engram.pictures.video.film", lambda *_, **__: iter(pictures))
    film = runs / f"play.{kind}"
    words = ["--episodes", "1", "--max-steps", "5", "--video", str(film)]
    assert main(["eval", str(runs / "d"), *words]) == 0
    assert main(["eval", str(runs / "d"), *words]) == 0  # its own film is made again
    kept = film.read_bytes()
    shutil.copytree(runs / "d", runs / "e")
    assert main(["eval", str(runs / "e"), *words]) == 2
    assert f"{film} is there already, and no film of the same; choose another name" in capsys.readouterr().err
    assert main(["inspect", str(runs / "d"), "--film", str(film)]) == 2
    assert f"{film} is there already, and no film of the same" in capsys.readouterr().err
    assert film.read_bytes() == kept
    film.write_bytes(b"a holiday")
    assert main(["eval", str(runs / "d"), *words]) == 2
    assert film.read_bytes() == b"a holiday"


def test_measurements_replace_only_measurements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = Row("reading", "two tables", 1.0, "a peer", 2.0, 2.0, 1.9, 2.1)
    monkeypatch.setattr("engram.bench.reading.rows", lambda **_: iter([row]))
    file, page = tmp_path / "bench.json", tmp_path / "bench.md"
    words = ["bench", "--only", "reading", "--out", str(file)]
    assert main(words) == 0
    assert main(words) == 0  # its own file and page are made again
    page.write_text("mine")
    assert main(words) == 2
    assert f"{page} is there already, and no page of `engram bench`" in capsys.readouterr().err
    assert page.read_text() == "mine"
    page.unlink()
    file.write_text('{"rows": "mine"}')
    assert main(words) == 2
    assert f"{file} is there already, and no file that `engram bench --out` wrote" in capsys.readouterr().err
    assert file.read_text() == '{"rows": "mine"}'
    assert not page.exists()


def test_verdicts_replace_only_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study, file = tmp_path / "cartpole", tmp_path / "claims.md"
    study.mkdir()
    (study / "study.json").write_text(json.dumps({"study": "cartpole", "title": "CartPole", "runs": {}}))
    monkeypatch.setattr("engram.commands.decide_claims.read_evidence", lambda *_: Evidence())
    words = ["claims", str(study), "--out", str(file)]
    assert main(words) == 0
    assert main(words) == 0  # its own verdicts are written again
    file.write_text("# My claims\n")
    assert main(words) == 2
    told = capsys.readouterr().err
    assert f"{file} is there already, and no list of these claims; choose another name, or move it elsewhere" in told
    assert file.read_text() == "# My claims\n"


@pytest.mark.slow
def test_the_page_of_a_memory_says_with_which_options_it_was_made(tmp_path: Path) -> None:
    MFEC("CartPole-v1", seed=0, capacity=40).learn(300).save(tmp_path / "my cart.safetensors")
    out = tmp_path / "page"
    assert main(["inspect", str(tmp_path / "my cart.safetensors"), "--axes", "pole angle,0", "--out", str(out)]) == 0
    page = (out / "index.html").read_text()
    assert "<span>--axes</span> <span>&#x27;pole</span> <span>angle,0&#x27;</span>" in page
    assert f"<span>--out</span> <span>{out}</span>" in page
    assert "cart.safetensors&#x27;</span>" in page
