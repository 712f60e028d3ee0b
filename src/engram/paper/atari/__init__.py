"""The paper's Table 3 (five Atari games)."""
