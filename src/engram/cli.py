"""The command line: which command it is, and how errors are told."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from engram.errors import EngramError, Interrupted, InvalidInputError, Stopped
from engram.runs.stopping import StopRequest
from engram.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

HELP = """usage: engram [-h] [--version] COMMAND …

Episodic control: reinforcement learning that acts by looking up similar past
states in a small memory.

commands:
  train AGENT   train an agent and write everything about the run to a folder;
                AGENT is one of
{agents}
                or module:Class, an agent of your own
  train --resume FOLDER
                go on with an interrupted run, exactly where it was, or with a
                finished one (--steps)
  eval          play episodes with a trained agent and report its returns;
                --video shows it at play
  inspect       draw what a trained agent's memory holds: entries, policy,
                values, on one page
  runs          list the runs in a folder: how far each is, its score, its age
  export        write what a trained agent remembers, or its policy, as a NumPy
                archive; `import` reads a memory back
  study         carry out many runs: a table of the paper, or one of your own
  tune          search for good settings of an agent in an environment
  report        make one page of a study (tables beside the paper's, figures,
                claims), of single runs or of a search
  claims        say which of the paper's claims hold
  site          make a site of all studies in a folder: their pages, and which
                claims hold
  bench         measure how fast it is here, beside what people use instead
  completion    print a script with which bash, zsh or fish completes all this

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
    "claims": ("decide_claims", "claims"),
    "site": ("site", "site"),
    "runs": ("list_runs", "runs"),
    "tune": ("tune", "tune_settings"),
    "export": ("export", "export"),
    "import": ("export", "import_memory"),
    "bench": ("bench", "bench"),
    "completion": ("completion", "completion"),
}
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")

STOPPED = "stopped; what is finished is kept, and the same command goes on from there"
WRONG, CRASHED, UNWRITTEN = 2, 70, 74  # exit codes; the last two as in sysexits.h

Command = Callable[[Sequence[str], "Console"], None]


def find_command(name: str) -> Command:
    """The function of a command; its file is imported only when it is asked for."""
    from engram import checks  # noqa: PLC0415

    if name not in COMMANDS:
        hint = checks.nearest(name, COMMANDS)
        raise InvalidInputError(f"unknown command {name!r}; {hint}the commands: engram --help")
    file, function = COMMANDS[name]
    found: Any = getattr(import_module(f"engram.commands.{file}"), function)
    others = {"commands": {each: partial(find_command, each) for each in COMMANDS}}
    command: Command = partial(found, **others) if name == "completion" else found  # which has to know all the others
    return command


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
    if not words or words[0] in ("-h", "--help"):
        from engram.commands.help_page import agent_lines  # noqa: PLC0415

        agents = "\n".join(f"{'':18}{name:7}{said}" for name, said in agent_lines().items())
        print(HELP.format(agents=agents), end="")
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

    for name in (*THREAD_SETTINGS, "PYGAME_HIDE_SUPPORT_PROMPT"):  # pygame, which draws some films, would greet
        os.environ.setdefault(name, "1")
    if sys.platform == "linux" and not any(name in os.environ for name in SCREENS):
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # or it would complain that there is none
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
