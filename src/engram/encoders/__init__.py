"""Encoders: from observation to key."""

from engram.encoders.base import Encoder
from engram.encoders.dct import DCT
from engram.encoders.identity import Identity
from engram.encoders.projection import Projection
from engram.encoders.scaled import Scaled
from engram.parts import Family

ENCODERS: Family[Encoder] = Family(
    "encoder",
    Encoder,
    {
        "identity": Identity,
        "projection": Projection,
        "scaled": Scaled,
        "dct": DCT,
        "frozen": "engram.encoders.frozen:Frozen",
    },
    aliases={},
)

__all__ = ["DCT", "ENCODERS", "Encoder", "Identity", "Projection", "Scaled"]
