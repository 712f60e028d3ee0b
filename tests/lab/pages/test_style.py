"""How strategies and agents are drawn."""

from engram.lab.labels import LABELS
from engram.lab.pages.style import COLOURS, Look, baseline_looks, looks


def test_each_strategy_has_a_look_of_its_own_that_company_does_not_change() -> None:
    names = [*LABELS, "dkm:decay=0.1", "dkm:decay=0.3", "Oldest"]
    found = looks(names)
    assert len(found) == len(set(found.values())) == len(names)
    assert [found[label] for label in LABELS.values()] == [Look(COLOURS[name]) for name in LABELS]
    assert found["DkM (decay 0.1)"].dashes != found["DkM"].dashes
    alone = looks(["dkm", "dkm:decay=0.1"])
    assert alone == {text: found[text] for text in ("DkM", "DkM (decay 0.1)")}


def test_strategies_of_ones_own_differ_in_colour_and_in_dashes() -> None:
    names = [f"Own{number}" for number in range(12)]
    found = looks(names)
    first = [found[name] for name in names[:6]]
    assert len({look.colour for look in first}) == len({look.dashes for look in first}) == 6
    assert len(set(found.values())) == 12
    assert not {look.colour for look in first} & set(COLOURS.values())


def test_agents_without_a_memory_are_told_apart() -> None:
    found = baseline_looks(["D3QN", "Mine", "Yours"])
    assert len(set(found.values())) == 3
    assert found["D3QN"] == baseline_looks(["D3QN"])["D3QN"]
