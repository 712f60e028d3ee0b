"""The paper's Table 2 (Acrobot)."""
