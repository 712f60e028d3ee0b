"""Runs: one config and one seed, carried out in a folder of its own."""
