"""What tables and figures call a strategy that results name `dkm:decay=0.3`."""

LABELS = {"lru": "LRU", "rew": "REW", "sur": "SUR", "kmeans": "kM", "dkm": "DkM", "fading": "Fading"}


def strategy_label(name: str) -> str:
    """A strategy's name for people: `DkM, decay 0.3`."""
    kind, _, options = name.partition(":")
    plain = kind.partition("@")[0]  # without the digest of its source
    return ", ".join([LABELS.get(kind, plain), *(each.replace("=", " ", 1) for each in options.split(",") if each)])
