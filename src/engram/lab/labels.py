"""What tables, figures and sentences call strategies, which results name `dkm:decay=0.3`, and sizes of memories."""

LABELS = {
    "lru": "LRU",
    "rew": "REW",
    "sur": "SUR",
    "kmeans": "kM",
    "dkm": "DkM",
    "fading": "Fading",
    "adaptive": "Adaptive",
}
MEANINGS = {
    "lru": "the least recently used goes",
    "rew": "the lowest value goes",
    "sur": "the least surprising goes",
    "kmeans": "online k-means",
    "dkm": "dynamic k-means",
    "fading": "clusters that fade",
    "adaptive": "states where they come back, otherwise clusters that fade",
}


def strategy_label(name: str) -> str:
    """A strategy's name for people: `DkM (decay 0.3)`."""
    kind, _, options = name.partition(":")
    plain = LABELS.get(kind, kind.partition("@")[0])  # without the digest of its source
    told = ", ".join(each.replace("=", " ", 1) for each in options.split(",") if each)
    return f"{plain} ({told})" if told else plain


def strategy_in_words(name: str) -> str:
    """A strategy where a sentence first names it: `kM (online k-means)`."""
    label, (kind, _, options) = strategy_label(name), name.partition(":")
    known = MEANINGS.get(kind) if not options else None
    return f"{label} ({known})" if known else label


def size_label(capacity: object) -> str:
    """A capacity for people, `1,000`; one that is no number, as an agent of one's own may have, as it is."""
    return f"{capacity:,}" if isinstance(capacity, int) else str(capacity)
