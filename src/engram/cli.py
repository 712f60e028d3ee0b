"""The command line: which command it is, and how errors are told."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from engram.errors import EngramError, Interrupted, InvalidInputError, Stopped
from engram.runs.stopping import StopRequest
from engram.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

HELP = """usage: engram [-h] [--version] COMMAND …

Episodic control: reinforcement learning that acts by looking up similar past states in a small memory.

commands:
  train AGENT   train an agent and write everything about the run to a folder; AGENT is one of
{agents}
                or module:Class, an agent of your own
  train --resume FOLDER   go on with an interrupted run, exactly where it was
  eval          play episodes with a trained agent and report its returns; --video shows it at play
  inspect       draw what a trained agent's memory holds: entries, policy, values, on one page
  study         carry out many runs: a whole table of the paper, or a study of your own
  report        show what came of a study: tables beside the paper's, figures, claims, on one page
  claims        say which of the paper's claims hold
  bench         measure how fast it is here, beside what people use instead

`engram COMMAND --help` lists a command's options. To begin with:
  engram train mfec --env CartPole-v1 --strategy dkm --capacity 50 --out runs/first
  engram eval runs/first
"""

COMMANDS = {  # name → its file, and the function there
    "train": ("train", "train"),
    "eval": ("evaluate", "evaluate"),
    "inspect": ("inspect", "inspect"),
    "study": ("study", "study"),
    "report": ("report", "report"),
    "claims": ("report", "claims"),
    "bench": ("bench", "bench"),
}
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


STOPPED = "stopped; what is finished is kept, and the same command goes on from there"
WRONG, CRASHED, UNWRITTEN = 2, 70, 74  # exit codes; the last two as in sysexits.h

Command = Callable[[Sequence[str], "Console"], None]


def list_agents() -> str:
    """A line for each built-in agent."""
    from engram.agents import BUILT_IN, summary_of  # noqa: PLC0415 (as all below: signals are heeded before)

    return "\n".join(f"                  {name:7}{summary_of(name)}" for name in BUILT_IN)


def find_command(name: str) -> Command:
    """The function of a command; its file is imported only when it is asked for."""
    from engram import checks  # noqa: PLC0415

    if name not in COMMANDS:
        hint = checks.nearest(name, COMMANDS)
        raise InvalidInputError(f"unknown command {name!r}; {hint}the commands: engram --help")
    file, function = COMMANDS[name]
    found: Command = getattr(import_module(f"engram.commands.{file}"), function)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with StopRequest(lambda late: STOPPED) as stop:
            return _carry_out(words, stop)
    except Stopped as stopped:
        print(stopped.words, file=sys.stderr)
        return 128 + stopped.signal


def _carry_out(words: Sequence[str], stop: StopRequest) -> int:
    if not words or words[0] in ("-h", "--help") or words in (["train"], ["train", "-h"], ["train", "--help"]):
        print(HELP.format(agents=list_agents()), end="")
        return 0
    if words[0] == "--version":
        print(f"engram {__version__}")
        return 0
    from engram.commands.failures import CrashError, told_errors  # noqa: PLC0415
    from engram.commands.screen import Text, new_console  # noqa: PLC0415

    complain = new_console(stderr=True)
    try:
        with told_errors():
            command = find_command(words[0])
            stop.guard(STOPPED)
            command(words[1:], new_console())
    except Interrupted as stopped:
        complain.print(str(stopped))
        return 128 + stopped.signal
    except EngramError as error:
        complain.print(Text.assemble(("error:", "bold red"), f" {error}"))
        return CRASHED if isinstance(error, CrashError) else WRONG
    return 0


def entry() -> int:
    """Run a command in a process of its own, with one thread: these networks are small, and more would only wait."""
    from engram.commands.streams import open_outputs  # noqa: PLC0415

    for name in THREAD_SETTINGS:
        os.environ.setdefault(name, "1")
    output, errors = open_outputs()
    code = main()
    output.flush()
    if code == 0 and output.error is not None and output.error.errno != errno.EPIPE:  # who reads may have seen enough
        print(f"error: the output could not be written: {output.error.strerror}", file=sys.stderr)
        code = UNWRITTEN
    errors.flush()
    if code > 128:
        os._exit(code)  # whatever the environment has left running
    return code


if __name__ == "__main__":
    sys.exit(entry())
