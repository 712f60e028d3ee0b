"""Which run pictures of memories show."""

from tools.draw_held import typical_seed


def test_the_seed_that_is_drawn_lies_nearest_to_the_means_of_all_strategies() -> None:
    lru = {10: 99.0, 11: 100.0, 12: 107.0}
    kmeans = {10: 250.0, 11: 400.0, 12: 150.0}  # where seed 11 is not typical
    assert typical_seed({"lru": lru}) == 11
    assert typical_seed({"lru": lru, "kmeans": kmeans}) == 10
    assert typical_seed({"lru": lru, "dkm": dict.fromkeys(lru, 0.0)}) == 11  # where all are alike, nothing is said
