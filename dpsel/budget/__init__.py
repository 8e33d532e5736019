"""The privacy budget, on disk: the public side, which sees no table."""
