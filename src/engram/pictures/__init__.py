"""Pictures of what a memory holds, of how it changed, and of an agent at play."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engram.pictures.gallery import of_memory, plot_entries, plot_memory
    from engram.pictures.picture import Picture

__all__ = ["Picture", "of_memory", "plot_entries", "plot_memory"]
_HOMES = {"Picture": "picture", "of_memory": "gallery", "plot_entries": "gallery", "plot_memory": "gallery"}


def __getattr__(name: str) -> Any:
    """A public name from its module, which is imported only now: videos need no matplotlib."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
