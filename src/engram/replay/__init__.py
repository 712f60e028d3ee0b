"""What agents with networks learn from: observations stored once, and what is drawn from them at random."""
