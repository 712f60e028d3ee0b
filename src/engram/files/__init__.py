"""Files: written whole or not at all, locked, and holding data only."""
