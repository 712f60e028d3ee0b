"""What each metric means, in a line: for pages and for docs/metrics.md."""

MEANINGS = {  # by name; those of tables by the name of their family
    "explore/epsilon": "the probability ε of a random action, at the episode's end",
    "learn/loss": "the mean over all learning steps since the last measured episode; NEC: of (Q(s, a) − R)² over a "
    "batch, D3QN: of the Huber loss",
    "learn/gradient": "the norm of the gradient that RMSprop gets, the mean over the same steps",
    "values/start": "Q of the best action in the first state, as the agent saw it then",
    "values/bias_exact": "the stored value minus the return that followed, over reads that hit an entry exactly",
    "values/bias_near": "the average over neighbours minus the return that followed, over reads that hit no entry "
    "exactly",
    "reads/exact": "the share of states that are in the table of the action taken, exactly (d² = 0)",
    "reads/distance": "the distance to the nearest entry in the table of the action taken, in the units of keys",
    "writes/new": "the share of the episode's writes that filled a free slot",
    "writes/updated": "the share of writes that found this very state, and updated it",
    "writes/merged": "the share of writes that were merged into the nearest entry (k-means and its kin)",
    "writes/replaced": "the share of writes that replaced an entry",
    "writes/discarded": "the share of writes that a strategy of your own did not want",
    "memory/fill": "entries over capacity, all tables together",
    "start/value": "Q of the best action in the first states of an evaluation's episodes, on average",
    "start/bias": "that Q (start/value) minus the discounted return that followed",
    "start/distance": "the distance from those first states to the nearest entry of any action",
    "play/exact": "the share of states of an evaluation that are in the table of the action taken there, exactly",
    "play/distance": "the distance from those states to the nearest entry in the table of the action taken",
    "fill": "entries over capacity, of each action's table",
    "entries/value": "the mean of all stored values",
    "entries/n": "the states in a cluster, on average (kmeans, dkm, fading, adaptive)",
    "entries/worth": "how good the best episodes of the stored states were, on average; −1: a cluster (adaptive)",
    "entries/n_largest": "the states in the largest cluster",
    "entries/age": "ticks since an entry was last used, on average (lru). A tick is a state that is written, or read "
    "when acting or learning",
    "entries/surprise": "what sur keeps, on average",
}
FAMILIES = ("fill",)  # one metric for each action's table: fill/0, fill/1, …


def meaning_of(name: str) -> str:
    """What a metric means; nothing for one that only its maker knows."""
    family = name.partition("/")[0]
    return MEANINGS.get(family if family in FAMILIES else name, "")
