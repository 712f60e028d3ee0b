"""All pictures of one memory."""

from engram.agents import Agent
from engram.errors import InvalidInputError
from engram.memory import EpisodicMemory
from engram.pictures.distributions import distribution_picture
from engram.pictures.entry_map import map_picture
from engram.pictures.frames_behind import frames_picture
from engram.pictures.picture import Picture
from engram.pictures.plane import choose_plane, plane_of_keys
from engram.pictures.policy_map import policy_picture
from engram.pictures.scene import plain_scene, scene_of
from engram.runs.snapshots import entries_of, snapshot_of
from engram.runs.traced import Traced


def of_memory(agent: Agent, *, axes: str | None = None, traced: Traced | None = None) -> list[Picture]:
    """Pictures of what the agent's memory holds and of what follows from it; none while it holds nothing.

    `axes` are two numbers of an observation to draw along, such as "0,2" or "pole angle,pole velocity"; by default the
    two that tell most about the values. The trace of its run tells how old entries are, and where they come from.
    """
    memory = memory_of(agent)
    if not memory.size.sum():
        return []
    with agent.lock:
        snapshot = snapshot_of(memory, agent.steps) if traced is None else traced.last
    scene = scene_of(agent)
    plane = choose_plane(agent, scene, snapshot, axes)
    found = [
        map_picture(snapshot, scene, plane, merges=merges(memory)),
        policy_picture(agent, snapshot, scene, plane, axes),
        distribution_picture(snapshot, scene),
        None if traced is None else frames_picture(agent, traced, scene),
    ]
    return [picture for picture in found if picture is not None]


def plot_memory(agent: Agent, axes: str | None = None) -> Picture:
    """The map of what the agent's memory holds; `axes` as above."""
    memory = memory_of(agent)
    with agent.lock:
        snapshot = snapshot_of(memory, agent.steps)
    scene = scene_of(agent)
    return map_picture(snapshot, scene, choose_plane(agent, scene, snapshot, axes), merges=merges(memory))


def plot_entries(memory: EpisodicMemory, axes: str | None = None) -> Picture:
    """The map of what a memory holds of which nothing else is known."""
    snapshot, scene = snapshot_of(memory), plain_scene(memory.actions, memory.key_size)
    return map_picture(snapshot, scene, plane_of_keys(scene.numbers, snapshot, axes), merges=merges(memory))


def merges(memory: EpisodicMemory) -> bool:
    """Whether a memory counts the states that are merged into an entry."""
    return entries_of(memory, 0).counts is not None


def memory_of(agent: Agent) -> EpisodicMemory:
    """The agent's memory, or an error that says that it has none."""
    if not agent.has_memory:
        raise InvalidInputError(f"{agent.label} has no memory to look into; MFEC and NEC have one")
    memory: EpisodicMemory = agent.memory  # type: ignore[attr-defined]
    return memory
