"""Names of files: none leads out of its folder, on any system."""

import pytest

from engram.errors import InvalidInputError
from engram.files.file_names import as_file_name, as_link_names, check_file_name

BAD = [
    "", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "C:x", "a\0b", "a\nb", ".hidden", "end.", "end ",
    "nul", "COM1.txt", "x" * 300, "é" * 150, "e\u0301", "a\u202eb", "\ud800", 3, None, ["a"],
]  # fmt: skip


@pytest.mark.parametrize("name", BAD, ids=repr)
def test_names_that_lead_elsewhere_are_refused(name: object) -> None:
    with pytest.raises(InvalidInputError, match=r"a run's id .* as it becomes the name of a file"):
        check_file_name("a run's id", name)


@pytest.mark.parametrize("name", ["cartpole-mfec-dkm-30-s1-c489e2", "a b", "é", "x.y", "a+b", "nulls"])
def test_other_names_are_as_they_were(name: str) -> None:
    assert check_file_name("a name", name) == name
    assert as_file_name(name, 60) == name


@pytest.mark.parametrize("name", [name for name in BAD if isinstance(name, str) and name != "\ud800"], ids=repr)
def test_any_text_becomes_a_part_of_a_name(name: str) -> None:
    assert check_file_name("a name", f"a-{as_file_name(name, 40)}-b")


def test_texts_become_names_that_differ_and_can_be_linked_to() -> None:
    texts = ["OpenRoom", "Pong+ClipReward", "CartPole (s=3)", "cartpole-s-3", "CartPole <s|3>", "(é)", "x" * 99]
    names = list(as_link_names(texts, 40).values())
    assert names == [
        *("openroom", "pong+clipreward", "cartpole-s-3", "cartpole-s-3-2", "cartpole-s-3-3", "é", "x" * 40)
    ]
