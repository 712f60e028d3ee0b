"""The presets, value by value against Tables 4, 5 and 6 of the paper."""

from typing import Any

import pytest

from engram import D3QN, NEC
from engram.agents import find_agent
from engram.agents.common.config import FAMILIES
from engram.errors import InvalidInputError

# setting → its value in classic control, rooms and Atari, as the paper prints it
TABLES: dict[str, dict[str, tuple[Any, Any, Any]]] = {
    "mfec": {
        "neighbours": (11, 11, 11),
        "epsilon_initial": (1, 1, 1),
        "epsilon_final": (5e-3, 5e-3, 5e-3),
        "epsilon_anneal_start_steps": (5e3, 5e3, 5e3),
        "epsilon_anneal_end_steps": (25e3, 25e3, 25e3),
        "discount": (0.99, 0.99, 0.99),
        "delta": (1e-3, 1e-3, 1e-3),
        "projection_size": (128, 128, 128),  # used for images only
    },
    "nec": {
        "neighbours": (11, 11, 50),
        "replay_size": (1e5, 1e5, 1e5),
        "memory_step": (0.1, 0.1, 0.1),
        "learning_rate": (pytest.approx(7.92e-6, rel=1e-3),) * 3,
        "rmsprop_decay": (0.95, 0.95, 0.95),
        "rmsprop_epsilon": (1e-2, 1e-2, 1e-2),
        "epsilon_initial": (1, 1, 1),
        "epsilon_final": (5e-3, 5e-3, 1e-3),
        "epsilon_anneal_start_steps": (5e3, 5e3, 5e3),
        "epsilon_anneal_end_steps": (25e3, 25e3, 25e3),
        "discount": (0.99, 0.99, 0.99),
        "delta": (1e-3, 1e-3, 1e-3),
        "batch_size": (32, 32, 32),
        "return_steps": (100, 100, 100),
        "key_size": (64, 64, 128),
        "learning_start_steps": (1e3, 1e3, 5e4),
    },
    "d3qn": {
        "replay_size": (1e5, 1e5, 1e6),
        "learning_rate": (25e-5, 25e-5, 25e-5),
        "rmsprop_decay": (0.95, 0.95, 0.95),
        "rmsprop_epsilon": (1e-2, 1e-2, 1e-2),
        "epsilon_initial": (1, 1, 1),
        "epsilon_final": (5e-3, 5e-3, 1e-2),
        "epsilon_anneal_start_steps": (1, 1, 1),
        "epsilon_anneal_end_steps": (5e4, 5e4, 1e6),
        "discount": (0.99, 0.99, 0.99),
        "reward_clip": (1, 1, 1),
        "batch_size": (32, 32, 32),
        "learning_start_steps": (5e3, 5e3, 12.5e3),
        "target_update_steps": (7.5e3, 1e3, 1e3),
    },
}


@pytest.mark.parametrize("agent", TABLES)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_preset_is_the_papers_column(agent: str, family: str) -> None:
    config = find_agent(agent).Config.from_settings({"preset": family})
    column = FAMILIES.index(family)
    assert {name: getattr(config, name) for name in TABLES[agent]} == {
        name: values[column] for name, values in TABLES[agent].items()
    }


def test_unknown_presets_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="preset must be one of 'classic', 'rooms', 'atari', got 'atary'"):
        NEC("CartPole-v1", preset="atary")  # type: ignore[arg-type]


def test_settings_override_a_preset_and_the_preset_is_no_setting() -> None:
    agent = D3QN("engram/OpenRoom-v0", preset="rooms", batch_size=16)
    assert (agent.config.target_update_steps, agent.config.batch_size) == (1_000, 16)
    assert (
        agent.config.to_json() == D3QN("engram/OpenRoom-v0", target_update_steps=1_000, batch_size=16).config.to_json()
    )
    agent = D3QN("engram/OpenRoom-v0", preset="rooms", target_update_steps=7)
    assert agent.config.target_update_steps == 7
