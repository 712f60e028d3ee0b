"""What the paper leaves open: a study of ours."""
