"""Which runs can share axes: those in one environment and of about one length."""

from collections import Counter
from collections.abc import Sequence

from engram.lab.run_record import RunRecord

LONGER = 4  # times: of runs that differ more in length, the shorter would hardly be seen


def comparable(runs: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Groups of runs by what they share, in the order of their first runs."""
    groups: list[list[RunRecord]] = []
    for run in sorted(runs, key=lambda each: each.glance.taken):
        fitting = [group for group in groups if _fits(run, group)]
        if fitting:
            fitting[0].append(run)
        else:
            groups.append([run])
    order = {run.name: number for number, run in enumerate(runs)}
    ordered = [sorted(group, key=lambda run: order[run.name]) for group in groups]
    ordered.sort(key=lambda group: order[group[0].name])
    lengths = Counter(_env(group[0]) for group in ordered)
    return {_title(group, told_apart=lengths[_env(group[0])] > 1): group for group in ordered}


def _fits(run: RunRecord, group: Sequence[RunRecord]) -> bool:
    """Whether a run that is no shorter than those of a group can be drawn with them."""
    return _env(run) == _env(group[0]) and run.glance.taken <= LONGER * max(group[0].glance.taken, 1)


def _title(group: Sequence[RunRecord], *, told_apart: bool) -> str:
    longest = max(run.glance.taken for run in group)
    return f"{_env(group[0])}, up to {longest:,} steps" if told_apart else _env(group[0])


def _env(run: RunRecord) -> str:
    return str(run.glance.config["env"])
