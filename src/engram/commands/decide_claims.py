"""`engram claims`: the verdicts on the paper's claims."""

import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from engram.commands.options import parse
from engram.commands.screen import Console, Text
from engram.errors import InvalidInputError
from engram.lab.reports import check_claims_path, read_evidence, write_claims
from engram.lab.study_folder import StudyFolder
from engram.lab.verdicts import BEYOND, FAILS, FEW, HOLDS, OPEN, Claim, Verdict
from engram.paper.claims import CLAIMS
from engram.paper.registry import STUDIES

COLOURS = {HOLDS: "green", FAILS: "red", OPEN: "yellow", BEYOND: "yellow", FEW: "dim"}
LEAST_ROOM = 24  # columns for sentences, however narrow the screen


@dataclass(frozen=True)
class Claims:
    """Decide the paper's claims from the runs of one or more studies."""

    studies: Positional[tuple[Path, ...]]  # their folders
    rules: bool = False  # show the rule by which each was decided
    out: Path | None = None  # a file to write them to as well, as Markdown


def claims(words: Sequence[str], console: Console) -> None:
    """Carry out `engram claims`."""
    options = parse(Claims, prog="engram claims", words=words)
    if not options.studies:
        raise InvalidInputError("engram claims needs the folders of studies, such as results/cartpole results/acrobot")
    if options.out is not None:
        check_claims_path(CLAIMS, options.out)
    evidence = read_evidence(options.studies, STUDIES)
    names = [StudyFolder(folder).name for folder in options.studies]
    if not any(name in STUDIES and STUDIES[name].claims for name in names):
        theirs = ", ".join(name for name, study in STUDIES.items() if study.claims)
        reports = "; ".join(shlex.join(["engram", "report", str(folder)]) for folder in options.studies)
        console.print(
            f"{_quoted(names)} made no claims, so there is nothing to decide; the paper's claims are about its own "
            f"studies ({theirs}). What came of yours: {reports}"
        )
        return
    for claim in CLAIMS.claims:
        console.print(text_of(claim, claim.decide(evidence), console.width, rule=options.rules))
    if options.out is not None:
        write_claims(CLAIMS, evidence, options.out)
        console.print(f"written to {options.out}")


def text_of(claim: Claim, verdict: Verdict, width: int, *, rule: bool = False) -> Text:
    """A claim with its verdict and the finding, beside each other; lines are broken between words only.

    With its rule, what the paper says, what to know about the rule, and all that led to the verdict.
    """
    explained = [(text, "dim") for text in (claim.quote, claim.rule, claim.note) if text] if rule else []
    parts = [(claim.text, "bold"), *explained, (verdict.why if rule else verdict.headline, "")]
    head = Text.assemble(
        f"{claim.number:2}  ", (f"{verdict.word:{max(map(len, COLOURS))}}", COLOURS[verdict.word]), "  "
    )
    room = max(width - len(head), LEAST_ROOM)
    lines = [
        Text(line, style)
        for text, style in parts
        for line in textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
    ]
    return head + Text(f"\n{' ' * len(head)}").join(lines) + Text("\n")


def _quoted(names: Sequence[str]) -> str:
    """`The study 'a'`, or `The studies 'a' and 'b'`."""
    quoted = [repr(name) for name in names]
    return f"The study {quoted[0]}" if len(quoted) == 1 else f"The studies {', '.join(quoted[:-1])} and {quoted[-1]}"
