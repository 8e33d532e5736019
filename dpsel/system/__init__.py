"""The machine: files that appear whole, processes, text. Nothing about tables or privacy."""
