"""Training: the loop and its events, evaluation, progress bars."""
