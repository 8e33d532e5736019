"""Private selection of k features from a score vector, one file a mechanism."""
