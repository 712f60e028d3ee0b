"""Encoders: from observation to key. Each file beside `base.py` is a built-in one."""

from engram.encoders.base import Encoder
from engram.parts import Family

ENCODERS: Family[Encoder] = Family("encoder", Encoder, __name__)

__all__ = ["ENCODERS", "Encoder"]
