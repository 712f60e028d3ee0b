"""Environments: the paper's rooms and games, and how any other one is made."""

from engram.envs.atari import register_games
from engram.envs.make import Env, EnvLike, EnvSource
from engram.envs.rooms import register_rooms

register_rooms()
register_games()

__all__ = ["Env", "EnvLike", "EnvSource"]
