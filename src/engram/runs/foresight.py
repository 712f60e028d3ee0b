"""What can be told of a run before its first step: that it is too short to learn anything."""

from collections.abc import Iterable

from engram.runs.run import Run


def foresight(runs: Iterable[Run]) -> list[str]:
    """A sentence about each reason for which some of these runs cannot learn, and what to do."""
    found = dict.fromkeys(_unsettled(run) for run in runs)
    return [words for words in found if words]


def _unsettled(run: Run) -> str:
    """That the encoder does nothing but observe to the end of the run, if so."""
    encoder = run.settings.parts().get("encoder")
    observed = getattr(encoder, "observed_steps", 0)
    if encoder is None or run.steps >= observed:
        return ""
    return (
        f"the encoder {encoder.name!r} only observes for the first {observed:,} steps, and a run of {run.steps:,} ends "
        f"before anything is stored or learned; take more steps, or let it observe for fewer, such as "
        f"{encoder.name}:steps={max(1, run.steps // 10)}"
    )
