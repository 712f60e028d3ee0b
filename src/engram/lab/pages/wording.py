"""Sentences about a study's runs: how long they were trained, how they were evaluated, and what their score is."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from engram.agents import label_of
from engram.envs.names import short_name
from engram.runs.finished import LAST_EVALUATIONS
from engram.runs.run import EVALUATION, Run


def steps_in_words(ours: Collection[int], theirs: Collection[int] = (), name: str = "") -> str:
    """How long some runs were trained, and those of a reference of that name where that is not the same."""
    other = f" ({name}: {_either(theirs)})" if theirs and set(theirs) != set(ours) else ""
    return f"{_either(ours)} training steps{other}"


def score_in_words(counts: Collection[int]) -> str:
    """What a run's score is, given the numbers of evaluations of the runs."""
    if counts and max(counts) <= LAST_EVALUATIONS:
        number = f"{max(counts)} " if len(set(counts)) == 1 else ""
        which = "its only evaluation" if number == "1 " else f"all its {number}evaluations"
    else:
        fewer = ", or of all where there were fewer" if counts and min(counts) < LAST_EVALUATIONS else ""
        which = f"its last {LAST_EVALUATIONS} evaluations{fewer}"
    return f"A run's score is the mean return of {which}."


def evaluations_in_words(places: Iterable[Mapping[str, Any]]) -> str:
    """How runs were evaluated, given their lines in `study.json`; with agents and environments where that differs."""
    kinds: dict[str, dict[str, None]] = {}
    for place in places:
        where = f"{label_of(place['agent'])} in {short_name(place['env'])}"
        kinds.setdefault(_evaluation(place), {})[where] = None
    text = "; ".join(kind + (f" ({', '.join(where)})" if len(kinds) > 1 else "") for kind, where in kinds.items())
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _evaluation(place: Mapping[str, Any]) -> str:
    interval, episodes, epsilon, longest = (place.get(name, getattr(Run, name)) for name in EVALUATION)
    played = f"{episodes} {'' if epsilon else 'greedy '}episode{'s' if episodes > 1 else ''}"
    played += f" with ε = {epsilon:g}" if epsilon else ""
    cut = "" if longest is None else f", {'each ' if episodes > 1 else ''}cut off after {longest:,} steps"
    return f"every {interval:,} training steps an evaluation plays {played}{cut}"


def _either(steps: Collection[int]) -> str:
    return " or ".join(f"{each:,}" for each in sorted(set(steps)))
