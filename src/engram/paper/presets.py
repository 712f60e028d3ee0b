"""The paper's hyperparameters as data: what differs from an agent's defaults in each family of environments.

Sources: Table 4 (MFEC), Table 5 (NEC) and Table 6 (D3QN) of Agostinelli et al. 2019. The defaults of the
agents' configs are the column for classic control.
"""

from typing import Any, Literal

from engram import checks

Family = Literal["classic", "rooms", "atari"]
FAMILIES = ("classic", "rooms", "atari")

PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "mfec": {
        "classic": {},
        "rooms": {},
        "atari": {},  # Table 4 has one column's worth: images are projected to 128 by default
    },
    "nec": {
        "classic": {},
        "rooms": {},
        "atari": {
            "neighbours": 50,
            "epsilon_final": 1e-3,
            "key_size": 128,
            "learning_start_steps": 50_000,
        },
    },
    "d3qn": {
        "classic": {},
        "rooms": {"target_update_steps": 1_000},
        "atari": {
            "replay_size": 1_000_000,
            "epsilon_final": 1e-2,
            "epsilon_anneal_end_steps": 1_000_000,
            "feature_size": 128,
            "learning_start_steps": 12_500,
            "target_update_steps": 1_000,
        },
    },
}


def preset(agent: str, family: str) -> dict[str, Any]:
    """The settings that the paper gives an agent in a family of environments, if they are not its defaults."""
    checks.one_of("preset", family, FAMILIES)
    return dict(PRESETS.get(agent, {}).get(family, {}))
