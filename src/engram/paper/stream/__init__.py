"""The stream of points of the paper's Figure 1."""
