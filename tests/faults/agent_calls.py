"""Calls of agents with hostile arrays, states and settings: each is refused with an EngramError, or does what it says.

`python -m tests.faults.agent_calls COUNT SEED` makes them and prints the outcomes as JSON.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import engram
from engram import D3QN, MFEC, NEC, evaluate_policy
from engram.agents import Agent
from engram.errors import NotReproducibleError
from tests.faults.hostile import NUMBERS, STRANGE, WHOLE, Hostile
from tests.faults.hostile_calls import Call, outcomes_of, print_outcomes
from tests.faults.worlds import Pictures, Vectors

SMALL: dict[str, Any] = {"epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 40}
NETWORK: dict[str, Any] = {"learning_start_steps": 10, "batch_size": 4, "replay_size": 40}
MEMORY: dict[str, Any] = {"capacity": 5, "neighbours": 3}
MAKERS: tuple[Callable[[], Agent], ...] = (
    partial(MFEC, Vectors, **MEMORY, **SMALL),
    partial(MFEC, Vectors, strategy="dkm", encoder="scaled:steps=20", exploration="novelty", **MEMORY, **SMALL),
    partial(MFEC, Pictures, strategy="fading", encoder="projection:size=5", exploration="boltzmann", **MEMORY, **SMALL),
    partial(NEC, Vectors, strategy="kmeans", key_size=4, learn_memory=True, **MEMORY, **NETWORK, **SMALL),
    partial(NEC, Pictures, key_size=4, **MEMORY, **NETWORK, **SMALL),
    partial(D3QN, Vectors, feature_size=4, exploration="mellowmax", **NETWORK, **SMALL),
    partial(D3QN, Pictures, feature_size=4, **NETWORK, **SMALL),
)


def new_agents() -> list[Agent]:
    """Agents of every kind, in the middle of an episode."""
    return [make().learn(53) for make in MAKERS]


def observations(agent: Agent, make: Hostile, count: int) -> Any:
    """A batch for an agent, mostly as it should be."""
    shape = agent.spaces.observation_shape
    if len(shape) == 1:
        return make.one(make.some(count, *shape))
    pictures = make.rng.integers(0, 256, (count, *shape))
    return make.one(make.dressed(pictures.astype(make.random.choice((np.uint8, np.uint8, np.int64, np.float32)))))


def predict(agent: Agent, make: Hostile) -> Any:
    batch = observations(agent, make, make.random.randrange(3))
    if isinstance(batch, np.ndarray) and batch.ndim and len(batch) and make.random.random() < 0.5:
        batch = batch[0]
    state, deterministic = make.one(None), make.one(make.random.random() < 0.5)
    return agent.predict(batch, state, deterministic=deterministic)[0]


def q_values(agent: Agent, make: Hostile) -> Any:
    return agent.q_values(observations(agent, make, make.random.randrange(3)))


def distances(agent: Agent, make: Hostile) -> Any:
    return agent.distances(observations(agent, make, make.random.randrange(3)))


def learn(agent: Agent, make: Hostile) -> None:
    steps = make.one(make.random.randrange(4))
    if isinstance(steps, int | float | np.number) and steps > 1000:
        steps = -steps  # which is refused: what is allowed would take too long
    try:
        agent.learn(steps)
    except NotReproducibleError:
        agent.abandon_game()
        raise


def load_state(agent: Agent, make: Hostile) -> None:
    """Load the agent's own state into another one of its kind, with something in it changed."""
    state: dict[str, Any] = agent.state_dict()
    place: Any = state
    while True:
        name = make.random.choice(list(place))
        if not (isinstance(place[name], dict) and place[name]) or make.random.random() < 0.2:
            break
        place = place[name]
    draw = make.random.random()
    if draw < 0.2:
        del place[name]
    elif isinstance(place[name], np.ndarray) and draw < 0.6:
        place[name] = make.dressed(place[name])
    else:
        place[name] = make.random.choice(make.random.choice((STRANGE, NUMBERS, WHOLE)))
    other = type(agent)(agent.source.make, **{f.name: getattr(agent.config, f.name) for f in fields(agent.config)})
    other.load_state_dict(state)
    other.learn(2)
    other.check_valid()


def save(agent: Agent, make: Hostile) -> None:
    with tempfile.TemporaryDirectory() as folder:
        usual = Path(folder) / "model.safetensors"
        path = make.one(usual)
        if path is usual:
            agent.save(path)
            engram.load(path, make.one(agent.source.make))


def construct(agent: Agent, make: Hostile) -> None:
    """Make an agent of the same kind with one or two strange settings, and let it learn."""
    settings = {field.name: getattr(agent.config, field.name) for field in fields(agent.config)}
    for _ in range(make.random.choice((1, 1, 2))):
        name = make.random.choice(list(settings))
        settings[name] = make.random.choice(make.random.choice((STRANGE, NUMBERS, WHOLE)))
    other = type(agent)(make.one(agent.source.make), **settings)
    other.learn(3)
    other.check_valid()


def evaluate(agent: Agent, make: Hostile) -> None:
    episodes, most = make.one(2), make.one(20)
    if isinstance(episodes, int | float | np.number) and episodes > 50:
        episodes = 1  # what is allowed would take too long
    evaluate_policy(agent, agent.source.make, n_eval_episodes=episodes, max_steps=most, seed=make.one(3))


CALLS: tuple[tuple[int, Call[Agent]], ...] = (
    (8, predict),
    (8, q_values),
    (4, distances),
    (3, learn),
    (2, load_state),
    (1, save),
    (2, construct),
    (1, evaluate),
)


if __name__ == "__main__":
    print_outcomes(outcomes_of(int(sys.argv[1]), int(sys.argv[2]), new_agents, CALLS))
