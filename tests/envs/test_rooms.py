"""The rooms: their plans, Gymnasium's own checks, and both render modes."""

import warnings
from collections import deque
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from engram.envs.rooms import CELL, FOUR_ROOM, OPEN_ROOM, Room, register_rooms
from engram.errors import InvalidInputError

register_rooms()

NORTH, EAST, SOUTH, WEST = range(4)
BACK = {NORTH: SOUTH, SOUTH: NORTH, EAST: WEST, WEST: EAST}
OPEN, FOUR = "engram/OpenRoom-v0", "engram/FourRoom-v0"
PLANS = {OPEN: OPEN_ROOM, FOUR: FOUR_ROOM}
SIZES = {OPEN: 10, FOUR: 11}

Cell = tuple[int, int]

DOORS = {(6, 3): EAST, (6, 10): EAST, (2, 6): SOUTH, (9, 7): SOUTH}
WALLS = (
    {(6, y) for y in (1, 2, 4, 5, 6, 7, 8, 9, 11)} | {(x, 6) for x in (1, 3, 4, 5)} | {(x, 7) for x in (7, 8, 10, 11)}
)


def move(room: Room, cell: Cell, action: int) -> Cell:
    """The cell that one step leads to."""
    room.position = cell
    x, y = room.step(action)[0].tolist()
    return int(x), int(y)


def beside(cell: Cell, action: int) -> Cell:
    return {
        NORTH: (cell[0], cell[1] - 1),
        EAST: (cell[0] + 1, cell[1]),
        SOUTH: (cell[0], cell[1] + 1),
        WEST: (cell[0] - 1, cell[1]),
    }[action]


def distances(room: Room) -> dict[Cell, int]:
    """Steps from the start to every reachable cell, by breadth-first search."""
    steps = {room.start: 0}
    queue = deque(steps)
    while queue:
        cell = queue.popleft()
        for action in BACK:
            found = move(room, cell, action)
            if found not in steps:
                steps[found] = steps[cell] + 1
                queue.append(found)
    return steps


def play(name: str, *, seed: int) -> list[tuple[Any, ...]]:
    """Everything that the environment returns in an episode of random actions."""
    env = gymnasium.make(name)
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed)
    answers: list[tuple[Any, ...]] = [(observation.tolist(), info)]
    over = False
    while not over:
        observation, *rest = env.step(env.action_space.sample())
        answers.append((observation.tolist(), *rest))
        over = bool(rest[1] or rest[2])
    return answers


@pytest.mark.parametrize("render_mode", [None, "rgb_array", "ansi"])
@pytest.mark.parametrize("name", PLANS)
def test_gymnasiums_checks_pass(name: str, render_mode: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(name, render_mode=render_mode)
        check_env(env.unwrapped)
        env.close()


def test_registering_again_changes_nothing() -> None:
    before = {name: gymnasium.spec(name) for name in PLANS}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register_rooms()
    assert all(gymnasium.spec(name) is spec for name, spec in before.items())


@pytest.mark.parametrize(("name", "others", "shortest"), [(OPEN, 99, 18), (FOUR, 103, 20)])
def test_every_state_can_be_reached(name: str, others: int, shortest: int) -> None:
    room = Room(PLANS[name])
    steps = distances(room)
    size = SIZES[name]
    assert room.start == (1, 1)
    assert room.goal == (size, size)
    assert steps[room.goal] == shortest
    assert len(steps.keys() - {room.goal}) == others
    walls = WALLS if name == FOUR else set()
    assert steps.keys() == {(x, y) for x in range(1, size + 1) for y in range(1, size + 1)} - walls


@pytest.mark.parametrize("name", PLANS)
def test_steps_go_to_the_next_cell_or_nowhere(name: str) -> None:
    room, size = Room(PLANS[name]), SIZES[name]
    free = distances(room).keys()
    walls = WALLS if name == FOUR else set()
    for cell in free:
        for action in BACK:
            target = beside(cell, action)
            blocked = target in walls or not all(1 <= along <= size for along in target)
            assert move(room, cell, action) == (cell if blocked else target)


@pytest.mark.parametrize(("door", "through"), DOORS.items())
def test_doors_let_through_in_both_directions_only(door: Cell, through: int) -> None:
    room = Room(FOUR_ROOM)
    near, far = beside(door, BACK[through]), beside(door, through)
    assert move(room, near, through) == door
    assert move(room, door, through) == far
    assert move(room, far, BACK[through]) == door
    assert move(room, door, BACK[through]) == near
    for sideways in BACK.keys() - {through, BACK[through]}:
        assert move(room, door, sideways) == door


def test_rooms_are_connected_by_the_doors_alone() -> None:
    closed = FOUR_ROOM.strip().splitlines()
    for x, y in DOORS:
        closed[y] = closed[y][:x] + "#" + closed[y][x + 1 :]
    assert set(distances(Room("\n".join(closed)))) == {(x, y) for x in range(1, 6) for y in range(1, 6)}


@pytest.mark.parametrize("name", PLANS)
def test_reward_is_for_the_goal_alone(name: str) -> None:
    room = Room(PLANS[name])
    for cell in distances(room).keys() - {room.goal}:
        for action in BACK:
            room.position = cell
            observation, reward, terminated, truncated, _ = room.step(action)
            reached = tuple(observation.tolist()) == room.goal
            assert (reward, terminated, truncated) == (float(reached), reached, False)


@pytest.mark.parametrize(
    ("name", "actions"),
    [
        (OPEN, [EAST] * 9 + [SOUTH] * 9),
        (FOUR, [SOUTH] * 2 + [EAST] * 8 + [SOUTH] * 8 + [EAST] * 2),
        (FOUR, [EAST] + [SOUTH] * 9 + [EAST] * 9 + [SOUTH]),
    ],
)
def test_a_shortest_path_ends_at_the_goal(name: str, actions: list[int]) -> None:
    env = gymnasium.make(name)
    env.reset(seed=0)
    *before, last = [env.step(action) for action in actions]
    assert not any(terminated or truncated or reward for _, reward, terminated, truncated, _ in before)
    observation, reward, terminated, truncated, _ = last
    assert observation.tolist() == [SIZES[name]] * 2
    assert (reward, terminated, truncated) == (1.0, True, False)


@pytest.mark.parametrize("name", PLANS)
def test_an_episode_is_truncated_at_step_100(name: str) -> None:
    env = gymnasium.make(name)
    env.reset(seed=0)
    answers = [env.step(NORTH) for _ in range(100)]
    assert [truncated for *_, truncated, _ in answers] == [False] * 99 + [True]
    assert not any(terminated for _, _, terminated, *_ in answers)
    assert all(observation.tolist() == [1, 1] for observation, *_ in answers)


@pytest.mark.parametrize("name", PLANS)
def test_observations_are_floats_within_exact_bounds(name: str) -> None:
    room = Room(PLANS[name])
    space = room.observation_space
    assert isinstance(space, gymnasium.spaces.Box)
    seen = np.array(list(distances(room)), np.float32)
    np.testing.assert_array_equal(space.low, seen.min(axis=0))
    np.testing.assert_array_equal(space.high, seen.max(axis=0))
    first, _ = room.reset()
    second, *_ = room.step(EAST)
    assert first.dtype == second.dtype == np.float32
    assert (first.tolist(), second.tolist()) == ([1, 1], [2, 1])


@pytest.mark.parametrize("name", PLANS)
def test_the_same_seed_gives_the_same_game(name: str) -> None:
    assert play(name, seed=7) == play(name, seed=7)
    assert play(name, seed=7) != play(name, seed=8)


@pytest.mark.parametrize("name", PLANS)
def test_ansi_is_the_plan_with_the_agent(name: str) -> None:
    env = gymnasium.make(name, render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == PLANS[name].strip().replace("S", "@")
    env.step(EAST)
    assert env.render() == PLANS[name].strip().replace("S.", "S@")


def test_images_differ_where_the_agent_was_and_is() -> None:
    env = gymnasium.make(FOUR, render_mode="rgb_array")
    env.reset(seed=0)
    before: Any = env.render()
    env.step(SOUTH)
    after: Any = env.render()
    assert before.shape == (13 * CELL, 13 * CELL, 3)
    assert before.dtype == np.uint8
    changed = (before != after).any(axis=2).reshape(13, CELL, 13, CELL).any(axis=(1, 3))
    assert {(int(x), int(y)) for y, x in np.argwhere(changed)} == {(1, 1), (1, 2)}


def test_images_show_dark_walls_and_the_goal_under_the_agent() -> None:
    room = Room(FOUR_ROOM, render_mode="rgb_array")
    centres = room.render()[CELL // 2 :: CELL, CELL // 2 :: CELL].astype(int).sum(axis=2)
    dark = {(int(x), int(y)) for y, x in np.argwhere(centres < 200)}
    border = {(x, y) for x in range(13) for y in range(13) if {x, y} & {0, 12}}
    assert dark == WALLS | border

    def goal_colours() -> set[tuple[int, ...]]:
        cell = room.render()[11 * CELL : 12 * CELL, 11 * CELL : 12 * CELL]
        return {tuple(colour) for colour in cell.reshape(-1, 3).tolist()}

    empty = goal_colours()
    room.position = room.goal
    assert empty < goal_colours()


def test_without_a_render_mode_nothing_is_rendered() -> None:
    assert Room().render() is None


@pytest.mark.parametrize("action", [-1, 4])
def test_unknown_actions_are_refused(action: int) -> None:
    with pytest.raises(InvalidInputError, match=f"from 0 to 3 .*got {action}"):
        Room().step(action)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ("", "rows of one length"),
        ("####\n#SG#\n###", r"rows of one length, got \[4, 4, 3\]"),
        ("#####\n#S.X#\n#####", "one S and one G"),
        ("####\n#S.#\n####", "one S and one G"),
        ("#####\n#SGG#\n#####", "one S and one G"),
        ("####\n#SG.\n####", "walls .* all round"),
        ("#.##\n#SG#\n####", "walls .* all round"),
    ],
)
def test_invalid_plans_are_refused(plan: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Room(plan)


def test_unknown_render_modes_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'rgb_array'"):
        Room(render_mode="rgb_arry")
