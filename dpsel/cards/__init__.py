"""Cards: a page about a release, for those who sign it and those who read it. All public."""
