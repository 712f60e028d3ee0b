"""Comparisons of strategies in sentences."""

from engram.lab.scores import Scores, in_words


def test_words_say_who_leads_and_whether_the_seeds_can_tell() -> None:
    high = Scores("A", (300.0, 310.0, 290.0, 305.0, 295.0))
    near = Scores("B", (310.0, 280.0, 305.0, 290.0, 300.0))
    low = Scores("C", (10.0, 20.0, 30.0, 40.0, 50.0))
    said = in_words([low, near, high])
    assert said[0] == "A has the highest mean score: 300.0 over 5 seeds (lowest 290.0, highest 310.0)."
    assert said[1] == "It lies 270.0 above C (p = 0.0079): more than chance between seeds explains."
    assert said[2].startswith("It lies 3.0 above B (p = 0.")
    assert said[2].endswith("5 seeds do not settle that order.")
    assert "chance" in in_words([Scores("A", (1.0,)), Scores("B", (9.0,))])[1]


def test_scores_are_mean_and_deviation_over_seeds() -> None:
    assert str(Scores("A", (1.0, 2.0, 6.0))) == "3.0 ± 2.6"
    assert str(Scores("A", (1.0,))) == "1.0"
