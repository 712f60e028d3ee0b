"""Training: the loop and its events, evaluation, progress, run folders, model files."""
