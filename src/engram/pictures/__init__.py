"""Pictures of what a memory holds, of how it changed, and of an agent at play."""

from engram.pictures.gallery import of_memory, plot_entries, plot_memory
from engram.pictures.picture import Picture

__all__ = ["Picture", "of_memory", "plot_entries", "plot_memory"]
