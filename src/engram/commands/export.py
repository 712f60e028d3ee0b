"""`engram export` and `engram import`: a trained agent's memory or policy for NumPy, and a memory back."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from engram.agents import Agent
from engram.agents.common.load import load
from engram.commands.options import parse
from engram.commands.part_options import GivenAgain, whole_command
from engram.commands.screen import Console
from engram.errors import InvalidInputError
from engram.files.archives import check_archive_name, read_archive, write_archive
from engram.files.disk import whole_path
from engram.files.targets import check_is_new
from engram.memory import EpisodicMemory
from engram.runs.folder import RunFolder


@dataclass(frozen=True, kw_only=True)
class Export(GivenAgain):
    """Write what a trained agent remembers, or what it does, as a NumPy archive."""

    file: Positional[Path]  # to write, a .npz
    policy: bool = False  # write what chooses its actions, for programs without Engram; by default its memory


@dataclass(frozen=True, kw_only=True)
class Import(GivenAgain):
    """Give a trained agent the memory of a NumPy archive, and write it as a new model file."""

    file: Positional[Path]  # the archive, as engram export wrote it, or changed with NumPy
    out: Path  # the model file to write, a .safetensors


def export(words: Sequence[str], console: Console) -> None:
    """Carry out `engram export`."""
    options = parse(Export, prog="engram export", words=words)
    target = whole_path(options.file)
    check_archive_name(target)
    check_is_new(target)
    agent = load_agent(options, "engram export")
    if options.policy:
        agent.export_policy(target)
        console.print(f"the policy is {options.file}, {target.stat().st_size:,} bytes; docs/runs.md has its reader")
        return
    memory = memory_of(agent)
    write_archive(target, memory.to_arrays())
    told = f"the memory, {int(memory.size.sum()):,} entries of {memory.actions} actions, is {options.file}"
    console.print(f"{told}; np.load reads it, and EpisodicMemory.from_arrays")


def import_memory(words: Sequence[str], console: Console) -> None:
    """Carry out `engram import`."""
    options = parse(Import, prog="engram import", words=words)
    target = whole_path(options.out)
    if target.suffix != ".safetensors":
        raise InvalidInputError(f"a model file must be called .safetensors, got {target.name!r}")
    check_is_new(target)
    arrays = read_archive(options.file)
    agent = load_agent(options, "engram import")
    memory_of(agent).load_arrays(arrays)
    agent.save(target)
    foreign = RunFolder(options.run).foreign() if options.run.is_dir() else {}
    again = [word for name, spec in {**foreign, **options.given()}.items() for word in (f"--{name}", spec)]
    command = shlex.join(["engram", "eval", str(options.out), *again])
    console.print(f"the agent with that memory is {options.out}; try: {command}")


def load_agent(options: GivenAgain, prog: str) -> Agent:
    """The agent of a run's folder or a model file; its environment is not made. `prog` is the command, for errors."""
    if not options.run.is_dir():
        return load(options.run, for_prediction=True, **_parts(options))
    with whole_command(prog, RunFolder(options.run), options):
        return load(options.run, for_prediction=True, **_parts(options))


def _parts(options: GivenAgain) -> dict[str, Any]:
    return {name: part for name, part in options.given().items() if name != "env"}


def memory_of(agent: Agent) -> EpisodicMemory:
    """The agent's memory, if it has one."""
    if not agent.has_memory:
        raise InvalidInputError(f"{agent.label} has no memory; its policy can be exported: --policy")
    memory: EpisodicMemory = agent.memory  # type: ignore[attr-defined]
    return memory
