"""Environments: the paper's rooms, and how any other one is made."""

from engram.envs.make import Env, EnvLike, EnvSource
from engram.envs.rooms import register_rooms

register_rooms()

__all__ = ["Env", "EnvLike", "EnvSource"]
