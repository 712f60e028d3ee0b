"""Atari-100k: what agents learn from 100,000 steps of a game."""
