"""Environments: the paper's rooms and Atari games, and how any Gymnasium environment is made from what users pass."""

from engram.envs.atari import register_games
from engram.envs.make import Env, EnvLike, EnvSource
from engram.envs.rooms import register_rooms

register_rooms()
register_games()

__all__ = ["Env", "EnvLike", "EnvSource"]
