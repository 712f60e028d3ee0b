"""The report on ideas for Atari-100k: what each gains over the baseline, and which the rule chooses."""

from collections.abc import Sequence
from functools import cached_property

from engram.lab.pages import page
from engram.lab.pages.finding import Finding
from engram.lab.pages.numbers import score_number
from engram.lab.pages.report_folder import write_figure
from engram.lab.pages.score_tables import MISSING
from engram.lab.pages.study_page import StudyReport
from engram.lab.pages.wording import counted, listed, number_in_words, seeds_in_words, sentence
from engram.paper.atari100k.games import DEVELOPMENT, WAYS, Played, Protocol, title_of
from engram.paper.ideas.gains import FEWEST_GAMES, FIRST_SEED, GO_ON, LARGEST, Gains
from engram.paper.ideas.gains_figure import Row, gains_figure
from engram.paper.ideas.sweep import ALONE

RULE = (
    f"A gain is a human-normalised score less the baseline's with the same seed, cut off at ±{LARGEST:g}. Every idea "
    f"is tried with seed {FIRST_SEED}; those with a mean gain above 0, at most the best {number_in_words(GO_ON)}, go "
    f"on with the other seeds. An idea helps if its mean gain over games and seeds is above 0, and its mean score "
    f"above the baseline's in at least {number_in_words(FEWEST_GAMES)} games. The rule was written down before "
    "(plan.md of Atari-100k)."
)


class IdeasReport(StudyReport):
    """The report of a study of ideas, alone and together."""

    @cached_property
    def gains(self) -> Gains:
        """What the variants gain."""
        return Gains(self.results)

    def _ranked(self, protocol: Protocol) -> list[str]:
        """The variants that have every game with at least one seed, the best first."""
        gains = self.gains
        there = [each for each in gains.variants(protocol) if gains.seeds(each, protocol)]
        return sorted(there, key=lambda each: -gains.mean_gain(each, gains.seeds(each, protocol), protocol))

    @cached_property
    def found(self) -> Finding:
        """Which ideas help, and how much the best gains."""
        gains, ranked = self.gains, self._ranked("plain")
        alone = [name for name in ranked if name in ALONE]
        if not alone:
            return Finding("No idea has been tried in all games yet.")
        whole, tried = [name for name in alone if gains.is_whole(name)], counted(len(alone), "idea")
        if whole:
            chosen = [name for name in whole if gains.helps(name)]
            count, helping = number_in_words(len(chosen)) if chosen else "none", "help" if len(chosen) > 1 else "helps"
            headline = f"of {tried} {count} {helping}{self._listed(chosen)}"
            if waiting := [name for name in gains.going_on(alone) if name not in whole]:
                headline += f"; {listed(waiting)} {'go' if len(waiting) > 1 else 'goes'} on"
        else:
            chosen, gaining = gains.going_on(alone), sum(gains.mean_gain(name, [FIRST_SEED]) > 0 for name in alone)
            count = number_in_words(gaining) if gaining else "none"
            best = "" if len(chosen) == gaining else f", and the best {number_in_words(len(chosen))} go on"
            headline = f"of {tried} {count} gain something with seed {FIRST_SEED}{best}{self._listed(chosen)}"
        together = [name for name in ranked if name not in ALONE]
        return Finding(sentence(headline), [sentence(f"together{self._listed(together)}")] if together else [])

    def _listed(self, variants: Sequence[str]) -> str:
        """Names with their gains, after a colon; nothing for none."""
        return f": {listed([self._with_gain(name) for name in variants])}" if variants else ""

    def _with_gain(self, variant: str, protocol: Protocol = "plain") -> str:
        seeds = self.gains.seeds(variant, protocol)
        return f"{variant} ({_signed(self.gains.mean_gain(variant, seeds, protocol))}, {seeds_in_words({len(seeds)})})"

    def first_figure(self) -> list[page.Block]:
        """Mean gains, and those of each game."""
        gains = self.gains
        rows = [
            Row(name, gains.mean_gain(name, gains.seeds(name)), gains.by_game(name), len(gains.seeds(name)))
            for name in self._ranked("plain")
        ]
        if not rows:
            return []
        seeds = seeds_in_words({row.seeds for row in rows})
        caption = (
            f"Gains over the baseline, {seeds}, without sticky actions. Bars: the mean over six games; dots: each game."
            " To the right of the line an idea scores above MFEC as the paper has it."
        )
        return [write_figure(gains_figure(rows), self.out, "gains", caption, self.found.headline)]

    def summary(self) -> list[str]:
        """What was run, and the rule."""
        return [f"{self.what_was_run} {self.protocol}", RULE]

    def sections(self) -> list[page.Block]:
        """Gains and scores, in each way of playing."""
        found: list[page.Block] = []
        for protocol, way in WAYS.items():
            if ranked := self._ranked(protocol):
                blocks = [self._gains_table(ranked, protocol), self._scores_table(ranked, protocol)]
                found.append(page.Section(sentence(f"games {way}").rstrip("."), blocks))
        return found

    def _gains_table(self, ranked: Sequence[str], protocol: Protocol) -> page.Table:
        gains = self.gains
        going_on = gains.going_on([name for name in ranked if name in ALONE]) if protocol == "plain" else []
        rows: list[list[str | page.Entry]] = []
        for name in ranked:
            seeds, by_game = gains.seeds(name, protocol), gains.by_game(name, protocol)
            rows.append(
                [
                    name,
                    _signed(gains.mean_gain(name, seeds, protocol)),
                    *(_signed(by_game[game]) for game in DEVELOPMENT),
                    f"{gains.games_above(name, protocol)} of {len(DEVELOPMENT)}",
                    f"{len(seeds)}",
                    self._verdict(name, going_on) if protocol == "plain" else "",
                ]
            )
        header = ["idea", "mean gain", *map(title_of, DEVELOPMENT), "games above", "n", "by the rule"]
        return page.Table(header, rows, "Gains over the baseline in human-normalised scores")

    def _verdict(self, name: str, going_on: Sequence[str]) -> str:
        if name not in ALONE:
            return "together"
        if self.gains.is_whole(name):
            return "helps" if self.gains.helps(name) else "does not help"
        return "goes on" if name in going_on else "ends here"

    def _scores_table(self, ranked: Sequence[str], protocol: Protocol) -> page.Table:
        rows: list[list[str | page.Entry]] = []
        for name in ("", *ranked):
            cells = [self.gains.scores.get((name, Played(game, protocol)), {}) for game in DEVELOPMENT]
            texts = [", ".join(f"{scores[seed]:.2f}" for seed in sorted(scores)) or MISSING for scores in cells]
            rows.append([name or "baseline", *texts])
        note = "One number for each seed, in their order."
        return page.Table(["", *map(title_of, DEVELOPMENT)], rows, "Human-normalised scores", note=note)


def _signed(gain: float) -> str:
    return f"{'+' if gain > 0 else ''}{score_number(gain, 3)}"
