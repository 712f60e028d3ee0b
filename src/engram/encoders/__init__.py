"""From observation to key."""

from engram.encoders.identity import Identity
from engram.encoders.projection import GaussianProjection

__all__ = ["GaussianProjection", "Identity"]
