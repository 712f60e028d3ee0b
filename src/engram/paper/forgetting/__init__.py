"""How clusters should forget: a study of ours."""
