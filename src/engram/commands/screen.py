"""What commands print: text as it is, styled by `Text` and never by markup."""

import os
import sys

from rich.console import Console
from rich.text import Text

UNLIMITED = 100_000  # columns, where no screen has to hold what is printed

__all__ = ["Console", "Text", "new_console"]


def new_console(*, stderr: bool = False) -> Console:
    """A console that prints strings as they are: `[/b]` in a user's path is no markup.

    It is as wide as the terminal, or as COLUMNS says. In a pipe lines are as long as they need to be.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = None if os.environ.get("COLUMNS", "").isdigit() or stream.isatty() else UNLIMITED
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True, width=width)
