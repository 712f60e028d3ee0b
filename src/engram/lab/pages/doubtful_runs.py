"""What a study's page warns of: runs that are missing, that should not be in one cell, or that are of earlier."""

from collections.abc import Callable, Mapping, Sequence

from engram.lab.cell import Cell
from engram.lab.earlier_runs import Earlier
from engram.lab.labels import strategy_label
from engram.lab.pages import page
from engram.lab.places import settings_of
from engram.lab.results import Results

FEW = 10  # missing runs, up to which they are named without being folded away


def doubtful_runs(
    results: Results, runs: Mapping[Cell, Sequence[str]], where: Callable[[str, str], str]
) -> list[page.Block]:
    """Warnings about the runs of a study, of whose cells `where` names the environment and the agent."""
    missing, texts = results.missing, []
    if missing:
        texts.append(f"{len(missing)} of {len(results.declared)} runs are missing, and their cells say so.")
    for cell, ids in runs.items():
        places = [results.declared[run_id] for run_id in ids]
        if len({settings_of(place) for place in places}) > 1:
            memory = [] if cell.strategy is None else [strategy_label(cell.strategy), str(cell.capacity)]
            parts = (where(cell.env, cell.agent), *memory)
            texts.append(f"{', '.join(parts)}: its runs differ in more than their seed, so it means nothing.")
    names = page.Names(missing)
    shown = names if len(missing) <= FEW else page.Folded("Which runs are missing", [names])
    warned = [page.Warnings(texts)] if texts else []
    return [*warned, *([shown] if missing else []), *_of_earlier(results.earlier)]


def _of_earlier(earlier: Earlier) -> list[page.Block]:
    """Runs in the study's folder that are not of the study as it is now, and what was done with them."""
    replaced, kept = earlier.replaced, earlier.kept
    if not replaced and not kept:
        return []
    texts = [
        f"Some runs in the folder ({len(replaced) + len(kept)}) are not of the study as it was last started: its "
        "file was changed, or its options were others. To keep versions apart, give the study another name, or "
        "another folder with --out.",
        *([f"Left out, as their cells have other runs now: {len(replaced)}."] if replaced else []),
        *([f"Shown below all the same: {len(kept)}."] if kept else []),
    ]
    listed = {"Which runs are left out": replaced, "Which runs of earlier are shown": kept}
    folded = [page.Folded(title, [page.Names(names)]) for title, names in listed.items() if names]
    return [page.Warnings(texts), *folded]
