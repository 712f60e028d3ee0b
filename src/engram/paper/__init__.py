"""The studies of Agostinelli et al. 2019, and ours about it: one folder per study, with its grids, its published
numbers, its claims and its report where it has one of its own."""
