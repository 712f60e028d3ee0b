"""What commands print: text as it is, styled by `Text` and never by markup."""

import os
import sys

from rich.console import Console
from rich.text import Text

PIPE_WIDTH = 200  # columns of a table that nobody's screen has to hold

__all__ = ["Console", "Text", "new_console"]


def new_console(*, stderr: bool = False) -> Console:
    """A console that prints strings as they are: `[/b]` in a user's path is no markup."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if "COLUMNS" in os.environ or stream.isatty() else PIPE_WIDTH
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True, width=width)
