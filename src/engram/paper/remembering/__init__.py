"""Whether one strategy can be at least as good as the best of the others everywhere: a study of ours."""
