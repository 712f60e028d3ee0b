"""Figures over memory sizes: labels that do not fit are left out."""

import pytest

from engram.lab.pages.sizes import with_room

CARTPOLE = [50, 100, 150, 500, 1_000, 3_000, 5_000, 10_000]


@pytest.mark.parametrize(
    ("width", "left_out"), [(0.01, []), (0.1, [150, 5_000]), (0.15, [100, 1_000, 5_000]), (0.5, CARTPOLE[1:-1])]
)
def test_labels_do_not_lie_on_one_another(width: float, left_out: list[int]) -> None:
    shown = with_room(CARTPOLE, [width] * len(CARTPOLE))
    assert sorted(shown | set(left_out)) == CARTPOLE
    assert not shown & set(left_out)


def test_a_study_of_one_size_has_its_label() -> None:
    assert with_room([50], [2.0]) == {50}
