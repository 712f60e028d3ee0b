"""The tables of claims: every claim once, its verdict told without colours, and the rule beside it."""

from pathlib import Path

from engram.lab.evidence import Evidence
from engram.lab.pages import page
from engram.lab.pages.claims_table import MARKS, claims_blocks, claims_tables
from engram.lab.pages.study_page import StudyReport
from engram.lab.reports import write_claims
from engram.paper.claims import CLAIMS
from engram.paper.registry import STUDIES
from tests.lab.pages.synthetic import declare, results
from tests.lab.pages.test_study_page import Reader, small


def test_claims_have_marks_that_need_no_colour(tmp_path: Path) -> None:
    html = page.Page("", StudyReport(small(tmp_path), tmp_path, STUDIES["cartpole"]).claims()).html()
    rows = Reader(html).tables[""]
    assert rows[0] == ["", "claim", "verdict", "because"]
    verdicts = {row[0]: row[2].removeprefix("<b>") for row in rows[1:]}
    assert list(verdicts) == ["1", "2", "3", "5", "6", "7", "15"]
    assert set(verdicts.values()) == {"… too few runs"}  # a small study has two seeds
    assert {f"{mark} {word}" for word, mark in MARKS.items()} == {
        *("✓ holds", "✗ does not hold", "? undecided", "∅ cannot be decided", "… too few runs")
    }
    assert "engram claims runs/cartpole runs/acrobot runs/openroom runs/fourroom" in Reader(html).text


def test_every_claim_is_told_with_its_rule() -> None:
    tables = claims_tables(CLAIMS, Evidence())
    assert [row[:2] for row in tables.verdicts.rows] == [[str(claim.number), claim.text] for claim in CLAIMS.claims]
    assert tables.rules.rows == [[str(claim.number), claim.rule] for claim in CLAIMS.claims]
    assert "best(X)" in tables.rules.note
    verdicts, folded = claims_blocks(CLAIMS, Evidence())
    assert verdicts == tables.verdicts
    assert folded == page.Folded("The rules", [tables.rules])


def test_claims_are_written_for_readers_of_a_repository(tmp_path: Path) -> None:
    write_claims(CLAIMS, Evidence(), tmp_path / "claims.md")
    text = (tmp_path / "claims.md").read_text()
    assert text.startswith("# The paper's claims\n")
    verdicts, rules = text.split("\n## The rules\n")
    assert all(f"\n| {claim.number} | " in part for claim in CLAIMS.claims for part in (verdicts, rules))
    assert verdicts.count("**… too few runs**") == len(CLAIMS.claims)


def test_a_page_says_when_its_runs_are_shorter_than_the_papers(tmp_path: Path) -> None:
    for steps, told in ((5_000, "5,000 training steps instead of 15,000"), (15_000, None), (30_000, None)):
        study = STUDIES["cartpole"].only(agents=["mfec"], sizes=(50,), seeds=(0, 1), steps=steps)
        found = results(study, lambda cell, seed: 100.0, places=declare(study, tmp_path / str(steps)))
        text = Reader(page.Page("", StudyReport(found, tmp_path, study).claims()).html()).text
        assert ("shorter than the paper's" in text) == (told is not None)
        assert told is None or told in text
