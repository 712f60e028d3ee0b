"""Events as numbers with names, which is what logs for other programs hold."""

from statistics import fmean

from engram.training.events import EpisodeEnd, Evaluation, Event


def scalars_of(event: Event) -> dict[str, float]:
    """What an episode or an evaluation brought, and its metrics; nothing for a single step."""
    if isinstance(event, EpisodeEnd):
        return {"episode/return": event.total, "episode/length": event.length, **event.metrics}
    if isinstance(event, Evaluation):
        spread = {"evaluation/lowest": min(event.returns), "evaluation/highest": max(event.returns)}
        return {"evaluation/return": event.mean, **spread, "evaluation/length": fmean(event.lengths), **event.metrics}
    return {}
