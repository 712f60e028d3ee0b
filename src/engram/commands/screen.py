"""What commands print: text as it is, styled by `Text` and never by markup."""

from rich.console import Console
from rich.text import Text

__all__ = ["Console", "Text", "new_console"]


def new_console(*, stderr: bool = False) -> Console:
    """A console that prints strings as they are: `[/b]` in a user's path is no markup."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)
