"""What a study's runs did, in words: how long they were trained, how they were evaluated, and what their score is."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from engram.agents import label_of
from engram.lab.claims import name_of
from engram.runs.folder import LAST_EVALUATIONS
from engram.runs.run import EVALUATION, Run


def steps_in_words(ours: Collection[int], theirs: Collection[int] = ()) -> str:
    """How long some runs were trained, and the paper's where that is not the same."""
    other = f" (the paper: {_either(theirs)})" if theirs and set(theirs) != set(ours) else ""
    return f"{_either(ours)} training steps{other}"


def score_in_words(counts: Collection[int]) -> str:
    """What a run's score is, by how many evaluations the runs had."""
    if counts and max(counts) <= LAST_EVALUATIONS:
        number = f"{max(counts)} " if len(set(counts)) == 1 else ""
        which = "its only evaluation" if number == "1 " else f"all its {number}evaluations"
    else:
        fewer = ", or of all where there were fewer" if counts and min(counts) < LAST_EVALUATIONS else ""
        which = f"its last {LAST_EVALUATIONS} evaluations{fewer}"
    return f"A run's score is the mean return of {which}."


def evaluations_in_words(places: Iterable[Mapping[str, Any]]) -> str:
    """How the runs were evaluated, given as a study declares them; which were, where not all were alike."""
    kinds: dict[str, dict[str, None]] = {}
    for place in places:
        where = f"{label_of(place['agent'])} in {name_of(place['env'])}"
        kinds.setdefault(_evaluation(place), {})[where] = None
    told = "; ".join(kind + (f" ({', '.join(where)})" if len(kinds) > 1 else "") for kind, where in kinds.items())
    return f"{told[0].upper()}{told[1:]}." if told else ""


def _evaluation(place: Mapping[str, Any]) -> str:
    interval, episodes, epsilon, longest = (place.get(name, getattr(Run, name)) for name in EVALUATION)
    played = f"{episodes} {'' if epsilon else 'greedy '}episode{'s' if episodes > 1 else ''}"
    played += f" with ε = {epsilon:g}" if epsilon else ""
    cut = "" if longest is None else f", {'each ' if episodes > 1 else ''}cut off after {longest:,} steps"
    return f"every {interval:,} training steps an evaluation plays {played}{cut}"


def _either(steps: Collection[int]) -> str:
    return " or ".join(f"{each:,}" for each in sorted(set(steps)))
