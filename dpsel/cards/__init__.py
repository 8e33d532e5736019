"""A page about a release, for those who sign it and those who read it: the public side."""
