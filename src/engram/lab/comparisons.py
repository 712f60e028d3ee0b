"""Comparisons of strategies that claims are made of: above others in the mean over cells, best in all of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from engram.lab.cell import Cell
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.quantity import Quantity
from engram.lab.statistics import total, weighted_terms
from engram.lab.verdicts import ABOVE_ZERO, Aim, Findings, Seeds, Statement, fewest, place_label
from engram.typing import Array

Place = tuple[str, str, int]  # environment, agent, entries per action
NO_UNITS: Mapping[str, float] = {}
UNFILLED = "no table ever filled"


@dataclass(frozen=True)
class Group:
    """Cells over which a mean is taken."""

    name: str  # CartPole, NEC
    places: Sequence[Place]

    @classmethod
    def sizes(cls, env: str, agent: str, sizes: Sequence[int]) -> "Group":
        """One agent in one environment, at several sizes."""
        return cls(place_label(env, agent), [(env, agent, size) for size in sizes])


def filled_group(evidence: Evidence, env: str, agent: str) -> Group:
    """The sizes at which tables filled, or may have in runs that are missing."""
    return Group.sizes(env, agent, evidence.sizes(env, agent))


def of_strategies(cells: Iterable[Cell], env: str, agent: str, strategies: Sequence[str | None]) -> list[Cell]:
    """Those of the cells that are an agent's in an environment, with one of these strategies; None: without a memory.

    Evidence may hold strategies that a claim is not about, such as one of the reader's own.
    """
    return [cell for cell in cells if cell[:2] == (env, agent) and cell.strategy in strategies]


def nothing_filled(evidence: Evidence, env: str, agent: str) -> Findings:
    """What is found where tables filled at too few sizes: nothing to compare if there are runs, otherwise no runs."""
    if any(cell[:2] == (env, agent) for cell in evidence.steps):
        sizes = evidence.sizes(env, agent)
        why = f"tables filled at {len(sizes)} of its sizes only" if sizes else UNFILLED
        return Findings(left_out=[f"{place_label(env, agent)}, as {why}"])
    return Findings(lacking=[f"{place_label(env, agent)}: no runs"])


@dataclass(frozen=True)
class Scored:
    """The scores of several strategies in one cell."""

    place: Place
    scores: Mapping[str, Array]

    @property
    def name(self) -> str:
        """The cell in sentences: `CartPole, NEC, 50`."""
        env, agent, size = self.place
        return f"{place_label(env, agent)}, {size:,}"

    @property
    def seeds(self) -> Seeds:
        """The smallest number of runs of a strategy."""
        return {self.place[1]: min(map(len, self.scores.values()))}


@dataclass(frozen=True)
class Cells:
    """The cells of a group in which every strategy has runs and a table filled, and the names of the others."""

    name: str
    there: Sequence[Scored]
    lacking: Sequence[str]
    left_out: Sequence[str]

    @classmethod
    def read(cls, evidence: Evidence, group: Group, strategies: Sequence[str]) -> "Cells":
        """The cells of a group, with the scores of these strategies."""
        there, lacking, left_out = [], [], []
        for place in group.places:
            found = {name: evidence.scores(place[0], place[1], name, place[2]) for name in strategies}
            cell = Scored(place, {name: scores for name, scores in found.items() if scores is not None})
            if len(cell.scores) < len(found):
                absent = ", ".join(strategy_label(name) for name in found if name not in cell.scores)
                lacking.append(f"{cell.name}: no runs of {absent}")
            elif not evidence.filled(*place):
                left_out.append(f"{cell.name}, as {UNFILLED}")
            else:
                there.append(cell)
        return cls(group.name, there, lacking, left_out)


def above(
    strategy: str,
    rivals: Sequence[str],
    name: str,
    cells: Sequence[Scored],
    *,
    among: int,
    needed: bool = True,
    aim: Aim = ABOVE_ZERO,
    units: Mapping[str, float] = NO_UNITS,
) -> Statement:
    """How far a strategy's score is above the mean of its rivals', in the mean over cells.

    `units` are those of scores, by environment, where several environments differ in them.
    """
    parts: dict[tuple[str, ...], list[tuple[float, Array]]] = {}  # by strategy, environment and agent
    for cell in cells:
        part = 1 / (len(cells) * units.get(cell.place[0], 1.0))
        for each in (strategy, *rivals):
            weight = part if each == strategy else -part / len(rivals)
            parts.setdefault((each, *cell.place[:2]), []).append((weight, cell.scores[each]))
    terms = [term for each in parts.values() for term in weighted_terms(each)]
    seeds = [{cell.place[1]: min(len(cell.scores[each]) for each in (strategy, *rivals))} for cell in cells]
    others = _listed([strategy_label(rival) for rival in rivals])
    where = name if len(cells) == 1 else f"{name}, mean over {len(cells)} cells"
    quantity = Quantity(
        *(f"{strategy_label(strategy)} scores", f"above {others}", f"below {others}", where),
        unit="of a game's range" if units else "",
        percent=bool(units),
    )
    return Statement.measured(
        quantity,
        partial(total, terms),
        fewest(seeds),
        aim=aim,
        among=among,
        needed=needed,
    )


def best(
    evidence: Evidence,
    strategy: str,
    rivals: Sequence[str],
    groups: Sequence[Group],
    *,
    elsewhere: Sequence[Group] = (),
    units: Mapping[str, float] = NO_UNITS,
) -> Findings:
    """That a strategy is best in all cells of these groups.

    It is above each rival in the mean over each group, and below a rival in no cell. Elsewhere only the latter is
    asked. Cells in which no table ever filled do not count.
    """
    read = [Cells.read(evidence, group, (strategy, *rivals)) for group in (*groups, *elsewhere)]
    means = [cells for cells in read[: len(groups)] if cells.there]
    single = [cell for cells in read for cell in cells.there if len(cells.there) > 1 or cells not in means]
    among = len(rivals) * (len(means) + len(single))
    return Findings(
        (
            *(
                above(strategy, [rival], cells.name, cells.there, among=among, units=units)
                for cells in means
                for rival in rivals
            ),
            *(
                above(strategy, [rival], cell.name, [cell], among=among, needed=False)
                for cell in single
                for rival in rivals
            ),
        ),
        tuple(text for cells in read for text in cells.lacking),
        tuple(text for cells in read for text in cells.left_out),
    )


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
