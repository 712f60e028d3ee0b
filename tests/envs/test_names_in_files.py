"""Ids that files may name."""

import pytest

from engram.envs.names import imports_nothing


@pytest.mark.parametrize(
    "name",
    [
        *(
            "CartPole-v1",
            "engram/OpenRoom-v0",
            "ALE/Pong-v5?obs_type=ram&frameskip=4",
            "CartPole-v1?x=true&y=null&z=-0.5",
        ),
        *('engram/OpenRoom-v0?plan="####\\n#SG#\\n####"', "Mine-v3?a=word_or-two"),
    ],
)
def test_ids_with_plain_options_import_nothing(name: str) -> None:
    assert imports_nothing(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "a:b",
            "a?b=c:d",
            'a?b="c\\u003ad"',
            "a?b=c.d",
            "a?b=c/d",
            "a?b=[1]",
            "a?b={}",
            "a?b=NaN",
            "a?b",
            "",
            "a b",
            "a%3Ab?x=1",
        ),
        *(None, 3, ["a"]),
    ],
)
def test_all_others_might(name: str) -> None:
    assert not imports_nothing(name)
