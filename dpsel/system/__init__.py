"""The machine: output files, signals, threads, worker processes, text. No tables, no privacy."""
