"""What an idea gains, and whether that is enough, as results/atari100k/plan.md says."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from engram.lab.results import Results
from engram.paper.atari100k.games import DEVELOPMENT, Played, Protocol
from engram.paper.atari100k.published import normalised
from engram.paper.atari100k.sweep import DEVELOPMENT_SEEDS

LARGEST = 0.5  # of a gain, up or down, so that no single game decides
FIRST_SEED = 0  # with which every idea is tried
GO_ON = 6  # ideas at most that are tried with the other seeds
FEWEST_GAMES = 4  # in which the mean score of an idea that helps is above the baseline's


@dataclass(frozen=True)
class Gains:
    """Human-normalised scores of all variants in the games of development, beside those of the baseline."""

    results: Results

    @cached_property
    def scores(self) -> dict[tuple[str, Played], dict[int, float]]:
        """By variant and game, the score of each seed that is finished."""
        found: dict[tuple[str, Played], dict[int, float]] = {}
        for row in self.results.runs.drop_nulls("score").iter_rows(named=True):
            played = Played.of(row["env"])
            by_seed = found.setdefault((row["variant"], played), {})
            by_seed[row["seed"]] = float(normalised(played.game, row["score"]))
        return found

    def variants(self, protocol: Protocol) -> list[str]:
        """All but the baseline that have a finished run, in the order of the study."""
        asked = dict.fromkeys(place["variant"] for place in self.results.declared.values())
        there = {name for name, played in self.scores if played.protocol == protocol}
        return [name for name in asked if name and name in there]

    def seeds(self, variant: str, protocol: Protocol = "plain") -> list[int]:
        """The seeds with which a variant and the baseline have every game."""
        of = [self.scores.get((name, Played(game, protocol)), {}) for game in DEVELOPMENT for name in (variant, "")]
        return sorted(set.intersection(*map(set, of)))

    def gain(self, variant: str, game: str, seed: int, protocol: Protocol = "plain") -> float:
        """The score less the baseline's with the same seed, cut off."""
        ours, plain = (self.scores[name, Played(game, protocol)][seed] for name in (variant, ""))
        return float(np.clip(ours - plain, -LARGEST, LARGEST))

    def mean_gain(self, variant: str, seeds: Sequence[int], protocol: Protocol = "plain") -> float:
        """The mean over games and seeds; −∞ where there are none."""
        found = [self.gain(variant, game, seed, protocol) for game in DEVELOPMENT for seed in seeds]
        return float(np.mean(found)) if found else -inf

    def by_game(self, variant: str, protocol: Protocol = "plain") -> dict[str, float]:
        """The mean gain in each game, over all seeds."""
        seeds = self.seeds(variant, protocol)
        return {
            game: float(np.mean([self.gain(variant, game, seed, protocol) for seed in seeds])) for game in DEVELOPMENT
        }

    def games_above(self, variant: str, protocol: Protocol = "plain") -> int:
        """In how many games the mean score, over all seeds, is above the baseline's."""
        seeds = self.seeds(variant, protocol)

        def mean(name: str, game: str) -> float:
            return float(np.mean([self.scores[name, Played(game, protocol)][seed] for seed in seeds]))

        return sum(mean(variant, game) > mean("", game) for game in DEVELOPMENT) if seeds else 0

    def going_on(self, ideas: Sequence[str]) -> list[str]:
        """Those of the ideas that are to be tried with the other seeds, the best first."""
        first = {idea: self.mean_gain(idea, [FIRST_SEED]) for idea in ideas if FIRST_SEED in self.seeds(idea)}
        return sorted((idea for idea in first if first[idea] > 0), key=lambda idea: -first[idea])[:GO_ON]

    def is_whole(self, variant: str) -> bool:
        """Whether it has every seed of development."""
        return set(DEVELOPMENT_SEEDS) <= set(self.seeds(variant))

    def helps(self, variant: str) -> bool:
        """Whether all its seeds together gain something, and in enough games."""
        gain = self.mean_gain(variant, self.seeds(variant))
        return gain > 0 and self.games_above(variant) >= FEWEST_GAMES
