"""The command `preprocess`: makes bounded tables. It sees rows, and releases nothing."""
