"""Replay buffers: each observation is stored once, and batches are sampled uniformly."""
