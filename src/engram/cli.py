"""The command line: which command it is, and how errors are told."""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from rich.console import Console
from rich.markup import escape

from engram import checks
from engram.agents import BUILT_IN, summary_of
from engram.errors import EngramError, Interrupted, InvalidInputError
from engram.version import __version__

HELP = """usage: engram [-h] [--version] COMMAND …

Episodic control: reinforcement learning that acts by looking up similar past states in a small memory.

commands:
  train AGENT   train an agent and write everything about the run to a folder; AGENT is one of
{agents}
                or module:Class, an agent of your own
  train --resume FOLDER   go on with an interrupted run, exactly where it was
  eval          play episodes with a trained agent and report its returns; --video shows it at play
  study         carry out many runs: a whole table of the paper, or a study of your own
  report        show what came of a study: tables beside the paper's, figures, claims, on one page
  claims        say which of the paper's claims hold

`engram COMMAND --help` lists a command's options. To begin with:
  engram train mfec --env CartPole-v1 --strategy dkm --capacity 50 --out runs/first
  engram eval runs/first
"""

COMMANDS = {  # name → its file, and the function there
    "train": ("train", "train"),
    "eval": ("evaluate", "evaluate"),
    "study": ("study", "study"),
    "report": ("report", "report"),
    "claims": ("report", "claims"),
}
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def list_agents() -> str:
    """A line for each built-in agent."""
    return "\n".join(f"                  {name:7}{summary_of(name)}" for name in BUILT_IN)


def find_command(name: str) -> Callable[[Sequence[str], Console], None]:
    """The function of a command; its file is imported only when it is asked for."""
    if name not in COMMANDS:
        hint = checks.nearest(name, COMMANDS)
        raise InvalidInputError(f"unknown command {name!r}; {hint}the commands: engram --help")
    file, function = COMMANDS[name]
    found: Callable[[Sequence[str], Console], None] = getattr(import_module(f"engram.commands.{file}"), function)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help") or words in (["train"], ["train", "-h"], ["train", "--help"]):
        print(HELP.format(agents=list_agents()), end="")
        return 0
    if words[0] == "--version":
        print(f"engram {__version__}")
        return 0
    complain = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        find_command(words[0])(words[1:], Console(highlight=False, soft_wrap=True))
    except Interrupted as stopped:
        complain.print(str(stopped), markup=False)
        return 128 + stopped.signal
    except KeyboardInterrupt:
        complain.print("interrupted; what is finished is kept, and the same command goes on from there")
        return 130
    except EngramError as error:
        complain.print(f"[bold red]error:[/bold red] {escape(str(error))}")
        return 2
    return 0


def entry() -> int:
    """Run a command in a process of its own, with one thread: these networks are small, and more would only wait."""
    for name in THREAD_SETTINGS:
        os.environ.setdefault(name, "1")
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


if __name__ == "__main__":
    sys.exit(entry())
