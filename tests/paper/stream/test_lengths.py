"""What is said of streams of several lengths: which halves DkM holds, and who is nearest to what."""

import numpy as np
import polars as pl
import pytest

from engram.lab.dataframes import pl as frames
from engram.paper.stream.analysis import kept_in_words
from engram.paper.stream.lengths import PANELS, Kept, lengths_figure, nearest_in_words
from engram.pictures.marks import read_mark

LENGTHS = (20, 40, 80, 160)
FIRST = {20: 0.0, 40: 0.05, 80: 0.09, 160: 0.1}  # DkM's distance to the first half; LRU's is 0.1
SECOND = {20: 0.0999, 40: 0.05, 80: 0.01, 160: 0.0}  # and to the second; kM's is 0.1


def lengths(first: dict[int, float] = FIRST, *, seeds: int = 6) -> pl.DataFrame:
    rows = []
    for points in LENGTHS:
        for seed in range(seeds):
            noise = 1e-4 * (seed % 3 - 1)
            for method, halves in {
                "kmeans": (0.0, 0.1),
                "fading": (0.0, 0.1),
                "dkm": (first[points], SECOND[points]),
                "lru": (0.1, 0.0),
                "batch": (0.02, 0.02),
            }.items():
                own = noise if method == "dkm" else 0.0
                to_first, to_second = (each + own for each in halves)
                rows.append((points, seed, method, 1.0, to_first, to_second, to_first + to_second))
    columns = ["points", "seed", "method", "fraction", "to_first", "to_second", "to_all"]
    return frames.DataFrame(rows, columns, orient="row")


def test_the_halves_that_are_held_are_told_by_length() -> None:
    kept = Kept.read(lengths())
    assert (kept.first_only, kept.both, kept.second_only) == ([20], [40, 80], [160])
    assert kept.in_words(10) == (
        "DkM forgets too fast to be a clustering: with 10 points kept, it holds some of both halves of streams of 40 "
        "and 80 points, and from 160 points on what LRU holds, nothing of the first half."
    )
    assert kept.short == "DkM forgets too fast to be a clustering: of a long stream it holds in the end what LRU holds."
    assert kept.beginning == "Of streams of 20 points DkM holds what kM holds, nothing of the second half. "


def test_a_clustering_that_keeps_both_halves_is_not_said_to_forget() -> None:
    kept = Kept.read(lengths(dict.fromkeys(LENGTHS, 0.03)))
    assert kept.in_words(10) == "With 10 points kept, DkM holds some of both halves of streams of 40 to 160 points."
    assert kept.short == ""
    lost = Kept.read(lengths(dict.fromkeys(LENGTHS, 0.1)))
    assert "holds some of both halves of no stream that was tried, and from 40 points on what LRU" in lost.in_words(10)


def test_of_one_seed_nothing_is_said() -> None:
    kept = Kept.read(lengths(seeds=1))
    assert kept.in_words(10) == "With 10 points kept, too little was run to tell which half of a stream DkM holds."


def test_k_means_is_told_beside_those_that_see_points_one_by_one() -> None:
    table = lengths().filter(pl.col("points") == 80)
    said = kept_in_words(table)
    assert said == (
        "Over six seeds, nearest of those that see points one by one: to the first half kM and Fading; to the second "
        "LRU; to all points kM, Fading, DkM and LRU. k-means, which sees all at once, is nearer still."
    )
    far = table.with_columns(to_all=pl.when(pl.col("method") == "batch").then(0.2).otherwise(pl.col("to_all")))
    assert kept_in_words(far).endswith("k-means, which sees all at once, is further.")
    same = table.with_columns(to_all=pl.when(pl.col("method") == "batch").then(0.1).otherwise(pl.col("to_all")))
    assert kept_in_words(same).endswith("k-means, which sees all at once, is as near, within chance.")
    assert "k-means" not in kept_in_words(table.filter(pl.col("method") != "batch"))


def test_the_figure_has_the_distances_that_the_sentence_is_about() -> None:
    table = lengths()
    panels = lengths_figure(table, 10).axes
    assert [axes.get_title(loc="left") for axes in panels] == list(PANELS.values())
    for axes, column in zip(panels, PANELS, strict=True):
        marks = {line: read_mark(str(line.get_gid())) for line in axes.lines}
        drawn = {mark.series: line for line, mark in marks.items() if mark is not None}
        assert set(drawn) == {"k-means", "kM", "Fading", "DkM", "LRU"}
        dkm = table.filter(pl.col("method") == "dkm").group_by("points", maintain_order=True).agg(pl.col(column).mean())
        np.testing.assert_allclose(np.asarray(drawn["DkM"].get_ydata()), dkm[column].to_numpy())
        np.testing.assert_allclose(np.asarray(drawn["DkM"].get_xdata()), np.array(LENGTHS) / 10)


@pytest.mark.parametrize("nearest", [True, False])
def test_the_lengths_at_which_dkm_is_nearest_to_all(nearest: bool) -> None:
    table = lengths()
    if nearest:
        closer = pl.when((pl.col("method") == "dkm") & (pl.col("points") == 80)).then(pl.col("to_all") - 0.05)
        table = table.with_columns(to_all=closer.otherwise(pl.col("to_all")))
    said = nearest_in_words(table, 10)
    assert ("in streams of 80 points, beyond chance; in those of 20, 40 and 160 it does not" in said) == nearest
    assert ("in a stream of no length that was tried" in said) != nearest
