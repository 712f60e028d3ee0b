"""Text that has to fit."""

from engram.pictures.lettering import wrapped


def test_text_that_fits_stays_and_longer_text_keeps_its_beginning_and_its_end() -> None:
    assert wrapped("DkM (decay 0.1)", 15) == "DkM (decay 0.1)"
    assert wrapped("Fading (lifetime 20)", 15) == "Fading\n(lifetime 20)"
    assert wrapped("CartPole, MFEC, n = 5", 18) == "CartPole, MFEC,\nn = 5"
    shown = wrapped("a_name_without_a_space " * 9 + "end", 20)
    assert [len(line) <= 20 for line in shown.split("\n")] == [True] * 3
    assert (shown[:14], shown[-3:], shown.count("…")) == ("a_name_without", "end", 1)
