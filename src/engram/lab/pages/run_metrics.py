"""The metrics of runs on their page: a small drawing of each that changes, and in words those that do not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engram.agents.common.metric_meanings import FAMILIES, MEANINGS, meaning_of
from engram.files.disk import inside, write_atomically
from engram.files.file_names import as_file_name
from engram.lab.pages import page
from engram.lab.pages.panels import Panels
from engram.lab.pages.run_figures import metric_panel
from engram.lab.pages.style import Look
from engram.lab.run_record import RunRecord, Series
from engram.pictures.canvas import svg_of

ORDER = list(MEANINGS)
LONGEST_NAME = 60  # of a file


@dataclass(frozen=True)
class Metric:
    """One metric of several runs, or a family of them that has one for each action's table."""

    name: str
    members: Sequence[str]  # itself, or those of the family
    series: Mapping[str, Sequence[Series]]  # by run

    @property
    def title(self) -> str:
        """`reads/exact`, or `fill/0 … fill/3`."""
        return self.name if len(self.members) == 1 else f"{self.members[0]} … {self.members[-1]}"

    @property
    def file(self) -> str:
        """The name of its drawing."""
        return as_file_name(f"metric-{self.name.replace('/', '-')}", LONGEST_NAME)

    @property
    def constant(self) -> str:
        """Its value where it never changes, by run where they differ; otherwise nothing."""
        values = {run: {float(v) for one in lines for v in one.values} for run, lines in self.series.items()}
        if any(len(found) > 1 for found in values.values()):
            return ""
        texts = {run: f"{found.pop():g}" for run, found in values.items()}
        if len(set(texts.values())) == 1:
            return next(iter(texts.values()))
        return ", ".join(f"{text} ({run})" for run, text in texts.items())


def metrics_of(runs: Sequence[RunRecord]) -> list[Metric]:
    """All metrics that the runs kept, in the order in which they are explained; others by name after them."""
    families: dict[str, dict[str, None]] = {}
    for name in sorted({name for run in runs for name in run.metrics}):
        family = name.partition("/")[0]
        families.setdefault(family if family in FAMILIES else name, {})[name] = None
    found = []
    for name, members in families.items():
        ordered = sorted(members, key=lambda each: (len(each), each))  # fill/2 before fill/10
        series = {run.name: [run.metrics[each] for each in ordered if each in run.metrics] for run in runs}
        found.append(Metric(name, ordered, {run: lines for run, lines in series.items() if lines}))
    return sorted(found, key=lambda each: (ORDER.index(each.name) if each.name in ORDER else len(ORDER), each.name))


def metrics_blocks(runs: Sequence[RunRecord], looks: Mapping[str, Look], out: Path, prefix: str) -> list[page.Block]:
    """What explains learning, as far as the runs kept it; drawings are written to files that begin with the prefix."""
    metrics = metrics_of(runs)
    if not metrics:
        return []
    changing = [metric for metric in metrics if not metric.constant]
    last = max(float(one.steps[-1]) for metric in metrics for lines in metric.series.values() for one in lines)
    blocks: list[page.Block] = []
    if changing:
        keys = {run.name: looks[run.name].colour for run in runs} if len(runs) > 1 else {}
        drawings = [_drawing(metric, looks, last, out, prefix) for metric in changing]
        blocks += [page.Text("Over the steps of training; where there are many points, their means.", note=True)]
        blocks += [Panels(drawings, keys)]
    if still := [[metric.title, metric.constant, _sentence(metric.name)] for metric in metrics if metric.constant]:
        blocks.append(page.Table(["metric", "value", "meaning"], still, "The same from beginning to end", prose=True))
    return blocks


def _drawing(metric: Metric, looks: Mapping[str, Look], last: float, out: Path, prefix: str) -> page.Drawing:
    svg, name = svg_of(metric_panel(metric.title, metric.series, looks, last)), f"{prefix}{metric.file}.svg"
    write_atomically(inside(out, "figures") / name, svg)
    return page.Drawing([svg.decode()], _sentence(metric.name) or metric.name, f"figures/{name}")


def _sentence(name: str) -> str:
    """The meaning of a metric as a sentence."""
    text = meaning_of(name)
    return f"{text[0].upper()}{text[1:]}." if text else ""
