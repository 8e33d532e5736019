"""`select` and `baseline`, the two commands that release something."""
