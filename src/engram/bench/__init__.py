"""Speed beside peers and limits, each measured in the same minutes: what `engram bench` does."""
