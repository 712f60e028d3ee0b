"""Numbers that commands print are whole on every screen and in a pipe."""

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from engram.bench.contest import Row
from engram.cli import main
from engram.commands.bench import show, table_of, table_of_changes
from engram.commands.decide_claims import text_of
from engram.commands.screen import UNLIMITED, new_console
from engram.lab.verdicts import Claim, Findings, Verdict
from tests.faults.power import CADENCE, TINY
from tests.faults.storage import interrupted
from tests.faults.tally import finish

WIDTHS = [40, 60, 80, 120, UNLIMITED]
ROWS = [
    Row(
        "reading",
        "6 × 100,000 × 128, k = 50, random play of both games",
        3809.4,
        peer,
        78765.7,
        20.68,
        20.24,
        21.15,
        1.6,
    )
    for peer in ("FAISS flat", "USearch exact")
]
CLAIM = Claim(
    5,
    "LRU improves with memory size, clustering does not.",
    "“LRU tends to improve monotonically”",
    "Slope of the score over doublings.",
    (),
    lambda evidence: Findings(),
    least_seeds=5,
    note="A note about the rule.",
)
HEADLINE = "LRU rises by 12.3 per doubling (CartPole, MFEC), 95 % interval 10.1 to 14.5"
WHY = "supported: LRU rises per doubling (CartPole, MFEC): 12.3 [10.1, 14.5]; kM does not rise: -0.123 [-1.5, 1.25]"


def on_screen(width: int) -> Console:
    return Console(width=width, file=StringIO(), soft_wrap=True)


def told(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def numbers(text: str) -> list[str]:
    return re.findall(r"-?\d[\d,.]*\d|\d", text)


@pytest.mark.parametrize("width", WIDTHS)
def test_speeds_and_their_changes(width: int) -> None:
    console = on_screen(width)
    show(table_of(ROWS), console)
    show(table_of_changes(ROWS, [row._replace(ratio=12.5, high=13.0) for row in ROWS]), console)
    for text in ("3,809.4", "78,765.7", "20.68 (20.24 to 21.15)", "1.6", "0.60", "slower", "USearch exact"):
        assert text in told(console), text
    assert "…" not in told(console)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rule", [False, True])
def test_claims(width: int, rule: bool) -> None:
    console = on_screen(width)
    console.print(text_of(CLAIM, Verdict("does not hold", HEADLINE, WHY), width, rule=rule))
    lines = told(console).splitlines()
    assert lines[0].startswith(" 5  does not hold      LRU improves")
    assert numbers(" ".join(lines)) == ["5", *numbers(WHY if rule else HEADLINE)]
    assert max(map(len, lines)) <= max(width, 47)
    said = " ".join(told(console).split())
    for text in (CLAIM.quote, CLAIM.rule, CLAIM.note):
        assert (text in said) == rule


@pytest.mark.parametrize("width", ["40", "60", "80", None])
def test_runs(
    width: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finish(TINY, tmp_path / "a-run-with-a-name-of-some-length", CADENCE)
    interrupted(TINY, tmp_path / "another", at=70)
    if width is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", width)
    assert main(["runs", str(tmp_path)]) == 0
    table = capsys.readouterr().out.partition("2 runs")[0]
    listed = json.loads(_json(tmp_path, capsys))
    for run in listed:
        assert Path(run["folder"]).name in table
        assert f"{run['taken']:,}" in table
        assert f"{run['score']:.2f}" in table or f"{run['score']:.1f}" in table
        assert run["state"] in table
    assert "…" not in table
    assert ("environment" in table) == (width is None)


def _json(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["runs", str(folder), "--json"]) == 0
    return capsys.readouterr().out


def test_a_pipe_has_lines_of_any_length_and_columns_set_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert new_console().width == UNLIMITED
    monkeypatch.setenv("COLUMNS", "60")
    assert new_console().width == 60
    monkeypatch.setenv("COLUMNS", "many")
    assert new_console().width == UNLIMITED


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["60", "80"])
def test_lines_of_train_eval_and_tune_are_printed_whole(
    columns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are longer than the screen, and it is the terminal that breaks them: nothing is left out."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.chdir(tmp_path)
    short = ["--steps", "120", "--evaluation-interval-steps", "60", "--evaluation-episodes", "2"]

    def said(*words: str) -> str:
        assert main(list(words)) == 0
        out, err = capsys.readouterr()
        assert "…" not in out + err
        return out

    assert re.search(
        r": score [\d.]+, the mean of the last evaluations\n", said("train", "mfec", *short, "--out", "run")
    )
    assert re.search(r"return [\d.]+ ± [\d.]+ over 10 episodes \(lowest \d+, highest \d+\)\n", said("eval", "run"))
    trials = ("--space", "capacity=5..40:log", "discount=0.9..0.99", "--trials", "2", "--seeds", "1", "--jobs", "1")
    tuned = said("tune", "mfec", *short, *trials)
    assert re.search(r"trial 2 of 2: score [\d.]+.*, capacity \d+, discount 0\.9\d+\n", tuned)
    assert re.search(r"\nengram train mfec .* --seed 0\n", tuned)
