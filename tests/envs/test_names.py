"""Environments as text: options, wrappers, short names, and what is added to them."""

from typing import Any

import pytest

from engram.envs.names import (
    Named,
    as_text,
    compose,
    from_text,
    imports_nothing,
    names_apart,
    parse,
    short_name,
    with_more,
)
from engram.errors import InvalidInputError


def test_a_string_is_taken_apart_into_environment_and_wrappers() -> None:
    assert parse('my.mod:Maze-v0?size=3&name=a b|TimeLimit?max_episode_steps=9|mod:Own?keys=["x","y"]') == (
        Named("my.mod:Maze-v0", {"size": 3, "name": "a b"}),
        Named("TimeLimit", {"max_episode_steps": 9}),
        Named("mod:Own", {"keys": ["x", "y"]}),
    )


@pytest.mark.parametrize(
    "value", [3, -0.5, True, None, "word", "3", "true", "a|b&c?d=e", "", "Ω\n", [1, "x|y"], {"a": [None]}]
)
def test_any_plain_value_survives_in_a_string(value: Any) -> None:
    assert from_text(as_text(value)) == value
    assert parse(compose([("a-v0", {"x": value, "y": 1}), ("W", {"z": value})])) == (
        Named("a-v0", {"x": value, "y": 1}),
        Named("W", {"z": value}),
    )


@pytest.mark.parametrize(
    ("env", "options", "wrappers", "whole"),
    [
        ("a-v0", (), (), "a-v0"),
        ("a-v0", ("x=1", "y=words"), (), "a-v0?x=1&y=words"),
        ("a-v0?x=1|W", ('{"x": 2, "y": [1, 2]}',), ("V?k=3",), "a-v0?x=2&y=[1, 2]|W|V?k=3"),
        ("pong", (), ("TimeLimit?max_episode_steps=9", "m:Own"), "pong|TimeLimit?max_episode_steps=9|m:Own"),
    ],
)
def test_options_and_wrappers_are_added(
    env: str, options: tuple[str, ...], wrappers: tuple[str, ...], whole: str
) -> None:
    assert with_more(env, options, wrappers) == whole


@pytest.mark.parametrize(
    ("env", "options", "wrappers", "said"),
    [
        ("a-v0", ("x",), (), "expected option=value after the question mark, got 'x'"),
        ("a-v0", ("[1]",), (), r"expected option=value after the question mark, got '\[1\]'"),
        ("a-v0", (), ("",), r"expected the name of a wrapper after every \|"),
        ("a-v0", (), ("W?k",), "expected option=value after the question mark, got 'k'"),
    ],
)
def test_what_cannot_be_added_is_refused(
    env: str, options: tuple[str, ...], wrappers: tuple[str, ...], said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        with_more(env, options, wrappers)


def test_environments_of_one_name_are_told_apart_by_what_differs() -> None:
    plain, sticky, other = "pong?max_frames=9", "pong?max_frames=9&repeat_action_probability=0.25", "qbert?max_frames=9"
    names = {plain: "pong", sticky: "pong (repeat_action_probability=0.25)", other: "qbert"}
    assert names_apart([plain, sticky, other, plain]) == names
    assert names_apart([sticky, other]) == {sticky: "pong", other: "qbert"}
    assert names_apart(["pong?max_frames=9", "pong?max_frames=8"]) == {
        "pong?max_frames=9": "pong (max_frames=9)",
        "pong?max_frames=8": "pong (max_frames=8)",
    }


@pytest.mark.parametrize(
    "names",
    [
        {"CartPole-v1": "CartPole-v1", "CartPole-v0": "CartPole-v0", "CartPole-v1?s=3": "CartPole-v1 (s=3)"},
        {"ALE/Pong-v5?s=3": "ALE/Pong", "my/Pong-v5?s=3": "my/Pong", "Qbert-v0": "Qbert"},
        {"ALE/Pong-v5": "ALE/Pong-v5", "ALE/Pong-v4": "ALE/Pong-v4", "my/Pong-v5": "my/Pong-v5"},
        {"a-v0|one:W": "a+one:W", "a-v0|two:W": "a+two:W"},
        {"a|W?x=1|V?x=2": "a|W?x=1|V?x=2", "a|W?x=2|V?x=1": "a|W?x=2|V?x=1"},
    ],
)
def test_versions_namespaces_and_modules_tell_environments_apart_where_they_differ(names: dict[str, str]) -> None:
    assert names_apart(names) == names


def test_short_names_tell_wrappers_too() -> None:
    assert short_name("ALE/Pong-v5?frameskip=4") == "Pong"
    assert short_name("my.mod:Maze-v0?size=3|TimeLimit?max_episode_steps=9|mod:Own") == "my.mod:Maze+TimeLimit+Own"


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("CartPole-v1|NormalizeObservation|TimeLimit?max_episode_steps=9", True),
        ('a-v0|FilterObservation?filter_keys=["x","y"]|ResizeObservation?shape=[84,84]', True),
        ("CartPole-v1|my_module:Own", False),
        ("CartPole-v1|gymnasium.wrappers:TimeLimit?max_episode_steps=9", False),
        ("CartPole-v1|RecordVideo?video_folder=x", False),
        ("CartPole-v1|TransformReward?func=x", False),
        ("CartPole-v1|TimeLimit?max_episode_steps=a.b", False),
        ('CartPole-v1|TimeLimit?max_episode_steps=["a:b"]', False),
        ("CartPole-v1|", False),
    ],
)
def test_files_may_name_gymnasiums_plain_wrappers_only(name: str, safe: bool) -> None:
    assert imports_nothing(name) is safe
