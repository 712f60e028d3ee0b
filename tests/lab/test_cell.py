"""Names of strategies in stored results, and their labels in tables and figures."""

import pytest

from engram.agents.mfec import MFECConfig
from engram.lab.cell import Cell, strategy_name
from engram.lab.labels import strategy_label
from engram.memory.strategies import Decision, Numbers, Strategy, Write, get_strategy, replace


class Oldest(Strategy):
    """A strategy of the user's own."""

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return replace(write.writes % write.capacity)


@pytest.mark.parametrize(
    ("spec", "name", "label"),
    [
        ("lru", "lru", "LRU"),
        ("rew", "rew", "REW"),
        ("sur", "sur", "SUR"),
        ("km", "kmeans", "kM"),
        ("dkm", "dkm", "DkM"),
        ("dkm:decay=1", "dkm", "DkM"),
        ("dkm:decay=0.1", "dkm:decay=0.1", "DkM (decay 0.1)"),
        ("fading", "fading", "Fading"),
        ("adaptive", "adaptive", "Adaptive"),
        ("fading:lifetime=20", "fading:lifetime=20", "Fading (lifetime 20)"),
        (Oldest(), "Oldest", "Oldest"),
    ],
)
def test_names_are_for_files_and_labels_for_people(spec: str | Strategy, name: str, label: str) -> None:
    assert strategy_name(MFECConfig(strategy=spec).to_json()["strategy"]) == name
    assert strategy_label(name) == label


@pytest.mark.parametrize("decay", [0.3, 1e-7, 1 / 3, 2.0, 123456.789])
def test_a_name_is_a_specification_of_the_same_strategy(decay: float) -> None:
    described = {"name": "dkm", "decay": decay}
    assert get_strategy(strategy_name(described)).options == {"decay": decay}


def test_a_users_own_strategy_is_not_taken_for_a_built_in_one_of_the_same_name() -> None:
    own = {"name": "lru", "size": 3, "source": "abc123"}
    assert strategy_name(own) == "lru@abc123:size=3"
    assert strategy_label("lru@abc123:size=3") == "lru (size 3)"


def test_a_cell_is_the_same_from_a_study_and_from_a_table() -> None:
    place = {"env": "CartPole-v1", "agent": "mfec", "strategy": {"name": "dkm", "decay": 0.3}, "capacity": 50}
    cell = Cell("CartPole-v1", "mfec", "dkm:decay=0.3", 50)
    assert Cell.of(place) == Cell.of({**place, "strategy": "dkm:decay=0.3"}) == cell
    assert Cell.of({**place, "strategy": None, "capacity": None}) == Cell("CartPole-v1", "mfec", None, None)
