"""The command line: which command it is, and how errors are told."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from rich.console import Console
from rich.markup import escape

import engram
from engram.agents import BUILT_IN
from engram.errors import EngramError, Interrupted, InvalidInputError

HELP = """usage: engram [-h] [--version] COMMAND …

Episodic control: reinforcement learning that acts by looking up similar past states in a small memory.

commands:
  train mfec    train model-free episodic control and write everything about the run to a folder
  train nec     the same with neural episodic control     (needs PyTorch: the extra `torch`)
  train d3qn    the same with a dueling double deep Q-network        (needs PyTorch as well)
  train --resume FOLDER   go on with an interrupted run, exactly where it was
  eval          play episodes with a trained agent and report its returns; --video shows it at play
  study         carry out many runs: a whole table of the paper, or your own strategies beside it
  report        show what came of a study: tables beside the paper's, figures, claims, on one page
  claims        say which of the paper's claims hold

`engram COMMAND --help` lists a command's options. To begin with:
  engram train mfec --env CartPole-v1 --strategy dkm --capacity 50 --out runs/first
  engram eval runs/first
"""


COMMANDS = {  # → its file, and the function there
    "eval": ("evaluate", "evaluate"),
    "study": ("study", "study"),
    "report": ("report", "report"),
    "claims": ("report", "claims"),
}


def find_command(words: Sequence[str]) -> Callable[[Console], None]:
    """What the words ask for; a command's file is imported only when it is."""
    match words:
        case ["train", "--resume", *rest]:
            name, function = "train", "resume"
        case ["train", agent, *_] if agent in BUILT_IN or ":" in agent:
            name, function, rest = "train", "train", list(words[1:])
        case [command, *rest] if command in COMMANDS:
            name, function = COMMANDS[command]
        case _:
            raise InvalidInputError(f"unknown command {' '.join(words[:2])!r}; the commands: engram --help")
    command = getattr(import_module(f"engram.commands.{name}"), function)
    return lambda console: command(rest, console)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help") or words in (["train"], ["train", "-h"], ["train", "--help"]):
        print(HELP, end="")
        return 0
    if words[0] == "--version":
        print(f"engram {engram.__version__}")
        return 0
    complain = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        find_command(words)(Console(highlight=False, soft_wrap=True))
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


if __name__ == "__main__":
    sys.exit(main())
