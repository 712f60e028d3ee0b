"""The scoreboard: every claim once, its verdict told without colours, its rule and power beside it."""

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from engram.lab.evidence import Evidence
from engram.lab.pages import page
from engram.lab.pages.claims_table import Scoreboard, claims_blocks, power
from engram.lab.pages.study_page import StudyReport
from engram.lab.quantity import Quantity
from engram.lab.reports import write_claims
from engram.lab.statistics import Interval
from engram.lab.verdicts import FAILS, FEW, HOLDS, OPEN, Chance, Claim, ClaimList, Findings, Statement, Verdict
from engram.paper.claims import CLAIMS
from engram.paper.registry import STUDIES
from tests.lab.pages.synthetic import declare, results
from tests.lab.pages.test_study_page import Reader, small

BELOW = Statement(
    Quantity("DkM scores", "above kM", "below kM"), Interval(-175, -122, -68), refuted=True, seeds={"nec": 5}
)
CHANCES = (
    Chance("paper", {"nec": 5}, 60, 52, 0),
    Chance("paper", {"nec": 20}, 60, 60, 0),
    Chance("alike", {"nec": 5}, 60, 1, 9),
    Chance("exchanged", {"nec": 20}, 60, 0, 60),
)


def claim(number: int, *statements: Statement) -> Claim:
    return Claim(
        number, f"Claim {number}", "“So.”", "The rule", ("cartpole",), lambda _: Findings(statements), 3, power=CHANCES
    )


def test_every_claim_has_its_row_and_its_rule() -> None:
    found = Scoreboard.of(CLAIMS, Evidence())
    html = found.table.html()
    assert [row[0] for row in found.table.rows] == [str(claim.number) for claim in CLAIMS.claims]
    assert [row[0] for row in found.rules.rows] == [str(claim.number) for claim in CLAIMS.claims]
    reader = Reader(html)
    for each in CLAIMS.claims:
        for text in (each.text, each.quote, each.rule):
            assert " ".join(text.split()).replace(" %", "\u00a0%") in reader.text
    assert found.counts == {**dict.fromkeys(found.counts, 0), FEW: len(CLAIMS.claims)}


def test_a_row_says_what_was_found_and_shows_where_it_lies() -> None:
    found = Scoreboard.of(ClaimList("Claims", (claim(1, BELOW),), "All rules."), Evidence())
    (row,) = found.table.rows
    html = "".join(cell.html() if isinstance(cell, page.Entry) else cell for cell in row)
    assert '<td class="bad"><b>✗ does not hold</b></td>' in html
    assert "DkM scores 122 below kM, 95\u00a0% interval 68 to 175" in html
    assert 'aria-label="−122 [−175, −68]; claimed: above 0"' in html
    assert "<summary>the rule, and what it rests on</summary>\n<p>The rule</p>" in html
    assert "All rules." in Reader(page.Page("", found.blocks).html()).text


def test_no_bar_is_drawn_where_there_are_too_few_runs() -> None:
    few = Statement(Quantity("DkM scores", "above kM"), Interval(-inf, 3, inf), seeds={"nec": 2})
    (row,) = Scoreboard.of(ClaimList("Claims", (claim(1, few),)), Evidence()).table.rows
    html = "".join(cell.html() for cell in row if isinstance(cell, page.Entry))
    assert "too few runs" in html
    assert "<svg" not in html


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([HOLDS], "The claim holds."),
        ([FAILS, HOLDS, FAILS], "Of 3 claims 1 holds and 2 do not hold."),
        ([OPEN, FAILS, HOLDS, FEW], "Of 4 claims 1 holds, 1 does not hold, 1 is undecided and 1 has too few runs."),
    ],
)
def test_the_counts_are_a_sentence(words: list[str], sentence: str) -> None:
    claims = tuple(claim(number) for number in range(len(words)))
    found = Scoreboard(ClaimList("Claims", claims), [Verdict(word, "", "") for word in words])  # type: ignore[arg-type]
    assert found.sentence() == sentence


def test_the_power_is_that_of_the_seeds_that_were_run() -> None:
    told = power(claim(1, BELOW), Verdict(FAILS, "", "", seeds={"nec": 7}))
    assert told.text == "if true, found 52 times of 60"
    assert told.below == [
        "on the paper's own numbers, 5 seeds",
        "1 of 60 where all strategies are alike",
        "0 of 60 where strategies are exchanged",
    ]
    assert power(claim(1), Verdict(FAILS, "", "", seeds={"nec": 20})).text == "if true, found 60 times of 60"
    assert (
        power(claim(1), Verdict(FAILS, "", "", seeds={"nec": 2})).text == "if true, found 52 times of 60"
    )  # the nearest there is
    assert power(replace(claim(1), power=()), Verdict(FAILS, "", "")).text == "not simulated"


def test_where_runs_are_missing_the_power_is_that_of_as_many_as_it_takes() -> None:
    few = [replace(each, holds=20) if each.seeds == {"nec": 5} and each.world == "paper" else each for each in CHANCES]
    told = power(replace(claim(1), power=tuple(few)), Verdict(FEW, "", "", seeds={"nec": 2}))
    assert (told.text, told.below[0]) == ("if true, found 60 times of 60", "on the paper's own numbers, 20 seeds")
    nobody_knows = power(replace(claim(1), unit="round"), Verdict(OPEN, "", ""))
    assert nobody_knows.below[0] == "on the paper's own numbers, 20 rounds"


def test_a_study_shows_the_claims_that_concern_it(tmp_path: Path) -> None:
    html = page.Page("", StudyReport(small(tmp_path), tmp_path, STUDIES["cartpole"]).claims()).html()
    rows = Reader(html).tables[""]
    assert rows[0] == ["claim", "the paper says", "verdict", "we find", "power of the rule"]
    assert [row[0] for row in rows[1:]] == [
        str(claim.number) for claim in CLAIMS.claims if claim.studies == ("cartpole",)
    ]
    text = "Claims 5, 6 and 7 are about several studies, and decided from all of them together: engram claims"
    assert f"{text} runs/cartpole runs/acrobot runs/openroom runs/fourroom" in Reader(html).text


def test_claims_are_written_for_readers_of_a_repository(tmp_path: Path) -> None:
    write_claims(CLAIMS, Evidence(), tmp_path / "claims.md")
    text = (tmp_path / "claims.md").read_text()
    assert text.startswith("# The paper's claims\n\nAll 18 claims have too few runs.\n")
    verdicts, rules = text.split("\n## The rules\n")
    assert all(f"\n| {claim.number} | " in part for claim in CLAIMS.claims for part in (verdicts, rules))
    assert verdicts.count("**… too few runs**") == len(CLAIMS.claims)
    assert claims_blocks(CLAIMS, Evidence())[2] == Scoreboard.of(CLAIMS, Evidence()).table


def test_a_page_says_when_its_runs_are_shorter_than_the_papers(tmp_path: Path) -> None:
    for steps, told in ((5_000, "5,000 training steps instead of 15,000"), (15_000, None), (30_000, None)):
        study = STUDIES["cartpole"].only(agents=["mfec"], sizes=(50,), seeds=(0, 1), steps=steps)
        found = results(study, lambda cell, seed: 100.0, places=declare(study, tmp_path / str(steps)))
        text = Reader(page.Page("", StudyReport(found, tmp_path, study).claims()).html()).text
        assert ("shorter than the paper's" in text) == (told is not None)
        assert told is None or told in text
