"""The paper: its studies, its published numbers and its claims."""
