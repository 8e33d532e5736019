"""The private core: numpy and scipy only, no files, no terminal, no clock."""
