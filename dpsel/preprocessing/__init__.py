"""`preprocess`: bounded tables. Sees rows, releases nothing."""
