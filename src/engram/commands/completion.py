"""`engram completion`: a script with which a shell completes commands, options and their values."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import gymnasium
from tyro.conf import Positional

from engram.agents import BUILT_IN
from engram.agents.common.config import PARTS
from engram.commands.options import Option, parse, seen_options
from engram.commands.screen import Console
from engram.envs.names import SAFE_WRAPPERS
from engram.errors import EngramError
from engram.paper.registry import STUDIES

Command = Callable[[Sequence[str], Console], None]
Shell = Literal["bash", "zsh", "fish"]
WORLDS = ("engram.", "gymnasium.envs.classic_control", "gymnasium.envs.toy_text")  # whose environments are offered


@dataclass(frozen=True)
class Completion:
    """Print a script with which a shell completes engram's commands, options and their values.

    bash: add `source <(engram completion bash)` to ~/.bashrc. zsh: add `source <(engram completion zsh)` to ~/.zshrc,
    after compinit. fish: engram completion fish > ~/.config/fish/completions/engram.fish
    """

    shell: Positional[Shell]  # bash, zsh or fish


@dataclass(frozen=True)
class Line:
    """The options of one command or, for `train`, of one agent."""

    words: tuple[str, ...]  # ("train", "mfec") or ("eval",)
    options: tuple[Option, ...]


def completion(words: Sequence[str], console: Console, commands: Mapping[str, Callable[[], Command]]) -> None:
    """Carry out `engram completion`, with a function for each command that finds it."""
    shell = parse(Completion, prog="engram completion", words=words).shell
    lines = list(all_lines(commands))
    console.print(fish_script(lines) if shell == "fish" else bash_script(lines, zsh=shell == "zsh"))


def all_lines(commands: Mapping[str, Callable[[], Command]]) -> Iterator[Line]:
    """What can be typed after `engram`, with the options of each."""
    for name, find in commands.items():
        for rest in [(agent,) for agent in BUILT_IN] + [("--resume",)] if name == "train" else [()]:
            options: tuple[Option, ...] = ()
            with suppress(EngramError):  # it needs an extra that is not installed
                options = tuple(seen_options(find(), rest))
            yield Line((name, *rest), options)


def values_of(option: Option) -> tuple[str, ...]:
    """The words that an option may be followed by, if they are known."""
    if option.choices:
        return option.choices
    match option.field:
        case "agents" | "what":
            known: Iterable[str] = BUILT_IN
        case "env":
            known = environments()
        case "strategies":
            known = PARTS["strategy"].built_in
        case "study":
            known = STUDIES
        case "wrapper":
            known = SAFE_WRAPPERS
        case field:
            known = PARTS[field].built_in if field in PARTS else ()
    return tuple(known)


def environments() -> tuple[str, ...]:
    """Ids of Engram's own environments and of Gymnasium's small ones."""
    return tuple(name for name, spec in gymnasium.registry.items() if str(spec.entry_point).startswith(WORLDS))


def names_of(line: Line) -> str:
    """All that can follow a command: its options, and the words that stand for themselves."""
    words = [word for option in line.options if option.is_positional for word in values_of(option)]
    return " ".join([*words, *(option.name for option in line.options if not option.is_positional), "--help"])


def bash_script(lines: Sequence[Line], *, zsh: bool) -> str:
    """A function for bash, which zsh takes too."""
    named = [option for line in lines for option in line.options if not option.is_positional]
    values = {option.name: values_of(option) for option in named if values_of(option)}
    known = "\n".join(f'    {name}) words="{" ".join(each)}" ;;' for name, each in sorted(values.items()))
    follow = "\n".join(f'      "{" ".join(line.words)}"*) words="{names_of(line)}" ;;' for line in lines)
    first = " ".join(dict.fromkeys(line.words[0] for line in lines))
    second = " ".join(line.words[1] for line in lines if line.words[0] == "train")
    return f"""{"autoload -Uz bashcompinit && bashcompinit" if zsh else "# engram: completion for bash"}
_engram() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  case "$previous" in
{known}
    *)
    case "$COMP_CWORD:${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}} " in
      1:*) words="{first} --help --version" ;;
      2:train*) words="{second} --help" ;;
      *) case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}} " in
{follow}
      esac ;;
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o bashdefault -o default -F _engram engram
"""


def fish_script(lines: Sequence[Line]) -> str:
    """A list of `complete` commands for fish."""
    first = dict.fromkeys(line.words[0] for line in lines)
    script = [f"complete -c engram -f -n __fish_use_subcommand -a '{' '.join(first)}'"]
    for line in lines:
        seen = f"__fish_seen_subcommand_from {line.words[-1]}"
        if len(line.words) > 1:
            other = "not __fish_seen_subcommand_from " + " ".join(BUILT_IN)
            offer = f"-a {line.words[1]}" if line.words[1] in BUILT_IN else "-l resume -r"
            script.append(f"complete -c engram -f -n '__fish_seen_subcommand_from train; and {other}' {offer}")
            seen = seen if line.words[1] in BUILT_IN else "__fish_seen_subcommand_from train; and " + other
        for option in line.options:
            about = option.about.replace("\\", "\\\\").replace("'", "\\'")
            values = " ".join(values_of(option))
            if option.is_positional:
                script += [f"complete -c engram -n '{seen}' -a '{values}'"] if values else []
            else:
                takes = (f" -x -a '{values}'" if values else " -r") if option.takes else ""
                script.append(f"complete -c engram -n '{seen}' -l {option.name.removeprefix('--')}{takes} -d '{about}'")
    return "\n".join(script) + "\n"
