"""The paper's Table 1 (CartPole)."""
