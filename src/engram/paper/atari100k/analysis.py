"""The report on Atari-100k: totals beside published agents, every game, what runs cost, and what explains scores."""

from collections.abc import Sequence
from functools import cached_property

from engram.lab.pages import page
from engram.lab.pages.finding import Finding
from engram.lab.pages.numbers import score_number
from engram.lab.pages.study_page import StudyReport
from engram.lab.pages.wording import counted, listed, number_in_words, seeds_in_words, sentence, steps_in_words
from engram.lab.statistics import Interval
from engram.paper.atari100k.by_game import GamesPart
from engram.paper.atari100k.costs_part import CostsPart
from engram.paper.atari100k.explanations import ExplanationsPart
from engram.paper.atari100k.games import BESIDE, MAX_FRAMES, STICKY, WAYS, Played, title_of
from engram.paper.atari100k.published import MEASURED, NAIT, NOT_COMPARABLE, peers
from engram.paper.atari100k.run_facts import Facts
from engram.paper.atari100k.standings import Contender, Standings
from engram.paper.atari100k.totals import TotalsPart

MOST_NAMED = 3  # published agents in a sentence; more are counted
PLAYED = (
    f"Every game is played in two ways: without sticky actions, and with them (the emulator repeats the last action "
    f"with probability {STICKY:g}). A step is four frames, and a game begins with up to 30 idle steps. It is cut off "
    f"after {MAX_FRAMES:,} frames, in training and in evaluation, so that an agent that walks in circles does not use "
    f"up its steps. {listed([title_of(game) for game in BESIDE])} are not among the 26 games, and in no total."
)


class Atari100kReport(StudyReport):
    """The report of a study of many games, each played in two ways."""

    @cached_property
    def standings(self) -> Standings:
        """Who scored what."""
        return Standings(self.results)

    @cached_property
    def facts(self) -> Facts:
        """What runs cost, and what explains their scores."""
        return Facts.read(self.results)

    @cached_property
    def costs(self) -> CostsPart:
        """What runs cost."""
        return CostsPart(self.standings, self.facts)

    def export(self) -> None:
        """Write what the page can be made from again, with the facts of the runs."""
        facts = self.facts  # read before anything is written
        super().export()
        facts.write(self.out)

    @cached_property
    def found(self) -> Finding:
        """Where the contenders stand beside published agents, in both ways of playing, and what that cost."""
        standings = self.standings
        if not standings.fields:
            return Finding("No game has all its runs yet, so there is nothing to compare.")
        games, *fewer = standings.fields
        first, *others = standings.entrants(games)
        late = [
            (each, field) for field in fewer for each in standings.entrants(field) if standings.counted(each) == field
        ]
        beside = [*((each, games) for each in others), *late]
        details = [
            *(sentence(f"{self._beside(each, field)}: {self._medians(each, field)}") for each, field in beside),
            *(sentence(self._placed(each, field)) for each, field in [(first, games), *beside]),
            *self._beside_published(first, games),
            self._beside_people(first, games),
            *self.costs.in_words(first),
        ]
        trained = steps_in_words({place["steps"] for place in self.results.declared.values()})
        where = self._beside(first, games)
        return Finding(
            f"After {trained}, {where}: {self._medians(first, games)}, where 0 is random play and 1 a person.",
            details,
            short=f"After {trained}, {where}.",
        )

    def _beside(self, contender: Contender, games: Sequence[str]) -> str:
        """Above and below which published agents a contender's median lies; beyond its interval where it has one."""
        part, ours = TotalsPart(self.standings, games), self._comparable(contender, games)
        theirs = {name: median for name, (_, median) in part.published.items()}
        low, high = (ours.low, ours.high) if ours.bounded else (ours.estimate, ours.estimate)
        kinds = {
            "above": [name for name, median in theirs.items() if median < low],
            "within chance of": [name for name, median in theirs.items() if low <= median <= high],
            "below": [name for name, median in theirs.items() if median > high],
        }
        there = {word: names for word, names in kinds.items() if names}
        count = f"{number_in_words(len(theirs))} published agents"
        if len(there) == 1:
            ((word, _),) = there.items()
            where = f"{word} all {count}"
        else:
            told = [
                f"{word} {listed(names) if len(names) <= MOST_NAMED else number_in_words(len(names))}"
                for word, names in there.items()
            ]
            where = f"{listed(told)}, of {count},"
        return f"{self.standings.label(contender)} stands by its median {where} on {part.same}"

    def _medians(self, contender: Contender, games: Sequence[str]) -> str:
        """A contender's median beside those of the published agents."""
        theirs = [median for _, median in TotalsPart(self.standings, games).published.values()]
        totals = self.standings.totals_by_protocol(contender, games)
        seeds = seeds_in_words({n for each in totals.values() for n in each.seeds})
        ours = score_number(self._comparable(contender, games).estimate, 2)
        low, high = (score_number(median, 2) for median in (min(theirs), max(theirs)))
        return f"its human-normalised score is {ours} ({seeds}), and theirs are {low} to {high}"

    def _comparable(self, contender: Contender, games: Sequence[str]) -> Interval:
        """A contender's median played as the published agents did, without sticky actions, if it was played so."""
        return next(iter(self.standings.totals_by_protocol(contender, games).values())).median

    def _placed(self, contender: Contender, games: Sequence[str]) -> str:
        """A contender's median and mean in each way of playing."""
        totals = self.standings.totals_by_protocol(contender, games)
        parts = [
            f"{each.median.estimate:.3f} {WAYS[protocol]} (mean {each.mean.estimate:.3f})"
            for protocol, each in totals.items()
        ]
        seeds = seeds_in_words({n for each in totals.values() for n in each.seeds})
        over = TotalsPart(self.standings, games).over
        label = self.standings.label(contender)
        return f"{label} has a median human-normalised score of {listed(parts)}, over {over}, {seeds}"

    def _beside_published(self, contender: Contender, games: Sequence[str]) -> list[str]:
        """Which of the published agents have a higher median, and a higher mean, on the same games."""
        theirs, label = TotalsPart(self.standings, games).published, self.standings.label(contender)
        texts = []
        for protocol, found in self.standings.totals_by_protocol(contender, games).items():
            means = [name for name, (mean, _) in theirs.items() if mean > found.mean.estimate]
            medians = [name for name, (_, median) in theirs.items() if median > found.median.estimate]
            higher, also = (_some_of(names, len(theirs)) for names in (medians, means))
            texts.append(
                f"Published agents with a higher median than {label} {WAYS[protocol]}, on the same games: {higher}; "
                f"with a higher mean: {also}."
            )
        return texts

    def _beside_people(self, contender: Contender, games: Sequence[str]) -> str:
        """In how many games the mean score is above a person's, and in how many not above that of random play."""
        parts = []
        for protocol in self.standings.totals_by_protocol(contender, games):
            found = [self.standings.normalised(contender, Played(game, protocol)) for game in games]
            means = [float(scores.mean()) for scores in found if scores is not None]
            high, low = sum(mean > 1 for mean in means), sum(mean <= 0 for mean in means)
            above, below = (number_in_words(count) if count else "none" for count in (high, low))
            parts.append(f"{WAYS[protocol]} above a person in {above} and not above random play in {below}")
        return f"Of {counted(len(games), 'game')}, {self.standings.label(contender)} is {'; '.join(parts)}."

    def first_figure(self) -> list[page.Block]:
        """Totals over the largest set of games."""
        fields = self.standings.fields
        return [TotalsPart(self.standings, fields[0]).figure(self.out, self.found.headline)] if fields else []

    def details(self) -> list[page.Block]:
        """The finding in more detail, none of it folded away."""
        return [page.Text(text) for text in self.found.details]

    def summary(self) -> list[str]:
        """What was run, how games are played, and which do not count yet."""
        unfinished: dict[str, list[str]] = {}
        for contender in self.standings.contenders:
            if lacking := self.standings.lacking(contender):
                games = listed([title_of(game) for game in lacking])
                unfinished.setdefault(games, []).append(self.standings.label(contender))
        texts = [
            f"Runs of {listed(labels)} are missing in {games}. Totals are over the other games, and so are those of "
            "published agents beside them."
            for games, labels in unfinished.items()
        ]
        return [f"{self.what_was_run} {self.protocol}", PLAYED, *texts]

    def sections(self) -> list[page.Block]:
        """Totals, games, costs, explanations, and what can be compared."""
        parts = {
            "Totals beside published agents": self.totals(),
            "Game by game": GamesPart(self.standings).blocks(self.out),
            "What a run costs": self.costs.blocks(),
            "What the memory knew": ExplanationsPart(self.standings, self.facts).blocks(self.out),
            "What can be compared": self.comparability(),
        }
        return [page.Section(title, blocks) for title, blocks in parts.items() if blocks]

    def totals(self) -> list[page.Block]:
        """A table for each set of games, and a figure for all but the first, whose figure is above."""
        blocks: list[page.Block] = []
        for number, games in enumerate(self.standings.fields):
            part = TotalsPart(self.standings, games)
            blocks += [part.figure(self.out, f"Human-normalised scores over {part.over}.")] if number else []
            blocks.append(part.table())
        return blocks

    def comparability(self) -> list[page.Block]:
        """What is known of how published agents were measured, and how often our games were cut off."""
        sources = {peer.name: peer.source for peer in peers()} | {NAIT.name: NAIT.source}
        rows = [[name, how, sources[name]] for name, how in MEASURED.items()]
        cut = self._cut_off()
        return [
            page.Text(NOT_COMPARABLE),
            *([page.Text(cut)] if cut else []),
            page.Table(["agent", "how it was measured", "scores from"], rows, "Published agents", prose=True),
        ]

    def _cut_off(self) -> str:
        """How many games of our evaluations had not ended; nothing where that is not known."""
        parts, standings = [], self.standings
        for protocol in standings.protocols:
            runs = [
                run for each in standings.contenders for run in standings.runs(each, protocol, standings.played(each))
            ]
            mine = self.facts.of(runs)
            if played := int(mine["games"].sum()):
                parts.append(f"{int(mine['cut_off'].sum()):,} of {played:,} {WAYS[protocol]}")
        return sentence(f"games of our evaluations that were cut off: {listed(parts)}") if parts else ""


def _some_of(names: Sequence[str], count: int) -> str:
    """Some of so many names in a sentence."""
    if not names or len(names) == count:
        return f"{'all' if names else 'none of'} {number_in_words(count)}"
    return f"{listed(names)} ({number_in_words(len(names))} of {number_in_words(count)})"
