"""The privacy budget on disk. This code is on the public side: it never sees a table."""
