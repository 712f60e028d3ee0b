"""What a finished run shows of an agent that did not learn, in words, and what to try."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from engram.agents import Agent
from engram.runs.finished import LAST_EVALUATIONS
from engram.runs.run import Run

FEWEST_EPISODES = 5  # of training, to say anything about them
FEWEST_EVALUATED = 10  # episodes of the last evaluations, to say that all are below what training has
STILL_EXPLORING = 0.2  # probability of a random action from which the end of exploration is far


@dataclass(frozen=True)
class Played:
    """Returns and lengths of episodes."""

    returns: tuple[float, ...]
    lengths: tuple[int, ...]

    @property
    def is_flat(self) -> bool:
        """Whether all have the same return."""
        return len(set(self.returns)) == 1


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong, and whether the agent has met anything that it could have learned."""

    words: str
    met_nothing: bool = False


def advice(run: Run, agent: Agent, entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A sentence about what went wrong, if the run's log shows it, and one about what to try."""
    found = diagnosis(entries, cut_off=run.evaluation_max_steps)
    if found is not None:
        yield found.words
        yield f"try: {'; or '.join(remedies(run, agent, found))}"


def diagnosis(entries: Sequence[dict[str, Any]], *, cut_off: int | None = None) -> Diagnosis | None:
    """What the log of a run shows to be wrong, if it does; episodes of evaluations may be cut off after some steps."""
    evaluations = [entry for entry in entries if entry["event"] == "evaluation"]
    episodes = [entry for entry in entries if entry["event"] == "episode"]
    if len(evaluations) < 2 or len(episodes) < FEWEST_EPISODES:
        return None
    trained = Played(tuple(each["return"] for each in episodes), tuple(each["length"] for each in episodes))
    every, last = _joined(evaluations), _joined(evaluations[-LAST_EVALUATIONS:])
    value, limit = max(last.returns), max(last.lengths)
    pairs = zip(trained.returns, trained.lengths, strict=True)
    better = [total for total, length in pairs if total > value and length < limit]
    if trained.is_flat and every.is_flat and trained.returns[0] == value:
        return Diagnosis(
            f"every episode, in training and in evaluations, had a return of {value:g}: the agent met nothing that it "
            "could learn from",
            met_nothing=True,
        )
    if set(last.lengths) == {limit} and better and last.is_flat:
        return Diagnosis(
            f"in the last evaluations every episode went on to the limit of {limit:,} steps, with a return of "
            f"{value:g}, while {len(better):,} of {len(episodes):,} training episodes ended earlier with more (up to "
            f"{max(better):g}): the greedy policy walks in circles"
        )
    comparable = cut_off is None or limit < cut_off or max(trained.lengths) <= cut_off
    return _below_training(trained, every, last) if comparable else None


def _below_training(trained: Played, every: Played, last: Played) -> Diagnosis | None:
    """Whether evaluations stayed below what training had."""
    value, usual = max(last.returns), median(trained.returns)
    if every.is_flat and max(trained.returns) > value:
        return Diagnosis(
            f"every evaluation, from first to last, had a return of {value:g}, while training episodes had up to "
            f"{max(trained.returns):g}: the greedy policy has not learned from them"
        )
    if len(last.returns) >= FEWEST_EVALUATED and value < usual and f"{value:g}" != f"{usual:g}":
        end = "lost what it had learned" if max(every.returns) >= usual else "not learned from them"
        return Diagnosis(
            f"no episode of the last evaluations had a return above {value:g}, while half of the training episodes had "
            f"{usual:g} or more: the greedy policy has {end}"
        )
    return None


def remedies(run: Run, agent: Agent, found: Diagnosis) -> Iterator[str]:
    """What may help, as options of `engram train`, the likeliest first."""
    if found.met_nothing:
        yield f"more steps, of which exploration needs many (--steps {4 * run.steps})"
        yield from ["an exploration that looks for what is new (--exploration novelty)"] if agent.has_memory else []
        return
    epsilon = agent.exploration.random_share(run.steps)
    if epsilon is not None and epsilon >= STILL_EXPLORING:
        yield (
            f"let exploration end within the run, where ε was still {epsilon:.2f} "
            f"(--epsilon-anneal-start-steps {run.steps // 10} --epsilon-anneal-end-steps {run.steps // 2})"
        )
    capacity = getattr(run.settings, "capacity", None)
    if capacity is not None and max(agent.memory.size) == capacity:  # type: ignore[attr-defined]
        yield f"a larger memory, as this one was full (--capacity {4 * capacity})"
    yield f"more steps (--steps {4 * run.steps})"
    if not agent.has_memory:
        yield "an agent with a memory, which learns from a single success (engram train mfec)"


def _joined(evaluations: Sequence[dict[str, Any]]) -> Played:
    return Played(
        tuple(total for each in evaluations for total in each["returns"]),
        tuple(length for each in evaluations for length in each["lengths"]),
    )
