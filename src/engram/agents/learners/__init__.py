"""What learns inside NEC and D3QN, in two forms: compiled, for vectors on the CPU, and with PyTorch, for all else."""
