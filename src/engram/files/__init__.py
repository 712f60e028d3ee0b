"""Files: atomic writes, folder locks, and model files that hold data only."""
