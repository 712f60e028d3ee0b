"""Fault injection: kills, power cuts, full disks and damaged files must not lose a run. `python -m tests.faults`."""
