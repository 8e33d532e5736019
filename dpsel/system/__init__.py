"""The machine: output files, signals, threads, worker processes, text. No tables, no privacy.

The order in which to read:

    output.py               files that are written completely or not at all, and stdout
    process.py              signals, standard streams, the system's words for errors
    threads.py, workers.py  threads of this process, and tasks in others
    frames.py               polars, with Ctrl-C given back
    text.py                 spellings, small files, JSON and HTML
"""
