"""Words for a study's runs: how many there are, how long they were trained, how evaluated, and what a score is."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from engram.agents import label_of
from engram.envs.names import names_apart
from engram.runs.finished import LAST_EVALUATIONS
from engram.runs.run import EVALUATION, Run

SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def steps_in_words(ours: Collection[int], theirs: Collection[int] = (), name: str = "") -> str:
    """How long some runs were trained, and those of a reference of that name where that is not the same."""
    other = f" ({name}: {_either(theirs)})" if theirs and set(theirs) != set(ours) else ""
    return f"{_either(ours)} training steps{other}"


def seeds_in_words(counts: Collection[int]) -> str:
    """How many seeds there are, given the number of each cell: `n = 5`; nothing without any."""
    if not counts:
        return ""
    fewest, most = min(counts), max(counts)
    return f"n = {fewest}" if fewest == most else f"n = {fewest} to {most}"


def worth_in_words(counts: Collection[int]) -> str:
    """What intervals over so few seeds are worth, if they are worth little; empty for five seeds and more."""
    few = sorted({count for count in counts if count < 5})
    if not few:
        return ""
    if few[0] < 3:
        without = [n for n in few if n < 3]
        return f"No interval is drawn for {_either(without)} seed{'' if without == [1] else 's'}."
    return (
        f"With {number_in_words(few[0])} seeds an interval rests on {number_in_words(few[0] - 1)} independent "
        "differences: it is wide, and right only if scores spread as a normal distribution does."
    )


def number_in_words(number: int) -> str:
    """`five` for 5, and `1,000` for what has no short word."""
    return SMALL[number] if 0 <= number < len(SMALL) else f"{number:,}"


def counted(number: int, thing: str) -> str:
    """`one size`, `five sizes`."""
    return f"{number_in_words(number)} {thing}{'' if number == 1 else 's'}"


def some_of(some: int, every: int, thing: str) -> str:
    """`two of five sizes`, and `the one size` where there is one only."""
    return f"the one {thing}" if every == 1 else f"{number_in_words(some)} of {counted(every, thing)}"


def changes_in_words(some: int, every: int, thing: str, what: str, which: str = "") -> str:
    """How many of some things change something: `two of five variants change a score`; `which` tells the things."""
    if every == 1:
        return f"the one {thing}{which} changes {'a' if some else 'no'} {what}"
    count = number_in_words(some) if some else "none"
    return f"{count} of {number_in_words(every)} {thing}s{which} {'change' if some > 1 else 'changes'} a {what}"


def listed(names: Sequence[str], last_word: str = "and") -> str:
    """Names in a sentence: `a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} {last_word} {last}" if first else last


def sentence(text: str) -> str:
    """The text with a capital at its beginning and a full stop at its end."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def score_in_words(counts: Collection[int]) -> str:
    """What a run's score is, given the numbers of evaluations of the runs."""
    if counts and max(counts) <= LAST_EVALUATIONS:
        number = f"{max(counts)} " if len(set(counts)) == 1 else ""
        which = "its only evaluation" if number == "1 " else f"all its {number}evaluations"
    else:
        fewer = ", or of all where there were fewer" if counts and min(counts) < LAST_EVALUATIONS else ""
        which = f"its last {LAST_EVALUATIONS} evaluations{fewer}"
    return f"A run's score is the mean return of {which}."


def evaluations_in_words(places: Sequence[Mapping[str, Any]], env_names: Mapping[str, str] | None = None) -> str:
    """How runs were evaluated, given their lines in `study.json`; with agents and environments where that differs.

    `env_names` says what environments are called, if not as they are told apart among these runs.
    """
    names = names_apart(place["env"] for place in places) if env_names is None else env_names
    kinds: dict[str, dict[str, None]] = {}
    for place in places:
        where = f"{label_of(place['agent'])} in {names[place['env']]}"
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
