"""What must never lose a run: kills, power cuts, full disks, damaged files. `python -m tests.faults` tries them all."""
