"""All pictures of one memory."""

from engram.agents import Agent
from engram.errors import InvalidInputError
from engram.memory import EpisodicMemory
from engram.pictures.distributions import distribution_picture
from engram.pictures.entry_map import map_picture
from engram.pictures.picture import Picture
from engram.pictures.plane import choose_plane, plane_of_keys
from engram.pictures.policy import policy_picture
from engram.pictures.scene import plain_scene, scene_of
from engram.runs.snapshots import Snapshot, snapshot_of


def of_memory(agent: Agent, *, axes: str | None = None, snapshot: Snapshot | None = None) -> list[Picture]:
    """Pictures of what the agent's memory holds and of what follows from it; none while it holds nothing.

    `axes` are two numbers of an observation to draw along, such as "0,2" or "pole angle,pole velocity"; by default the
    two that tell most about the values. `snapshot` tells more of the entries than the memory itself does.
    """
    memory = memory_of(agent)
    if not memory.size.sum():
        return []
    with agent.lock:
        snapshot = snapshot_of(memory, agent.steps) if snapshot is None else snapshot
    scene = scene_of(agent)
    plane = choose_plane(agent, scene, snapshot, axes)
    policy = policy_picture(agent, snapshot, scene, plane, axes)
    found = [map_picture(snapshot, scene, plane), policy, distribution_picture(snapshot, scene)]
    return [picture for picture in found if picture is not None]


def plot_memory(agent: Agent, axes: str | None = None) -> Picture:
    """The map of what the agent's memory holds; `axes` as above."""
    memory = memory_of(agent)
    with agent.lock:
        snapshot = snapshot_of(memory, agent.steps)
    scene = scene_of(agent)
    return map_picture(snapshot, scene, choose_plane(agent, scene, snapshot, axes))


def plot_entries(memory: EpisodicMemory, axes: str | None = None) -> Picture:
    """The map of what a memory holds of which nothing else is known."""
    snapshot, scene = snapshot_of(memory), plain_scene(memory.actions, memory.key_size)
    return map_picture(snapshot, scene, plane_of_keys(scene.numbers, snapshot, axes))


def memory_of(agent: Agent) -> EpisodicMemory:
    """The agent's memory, or an error that says that it has none."""
    if not agent.has_memory:
        raise InvalidInputError(f"{agent.label} has no memory to look into; MFEC and NEC have one")
    memory: EpisodicMemory = agent.memory  # type: ignore[attr-defined]
    return memory
