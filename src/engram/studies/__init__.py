"""Many runs: which they are, and how they are carried out."""
