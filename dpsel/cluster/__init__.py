"""Work on the machines of a Dask cluster. Dask is an extra, imported only where it is used.

The order in which to read:

    place.py        the options: which cluster, how many workers
    shards.py       who reads which rows and features, and how the partials add up
    shard_files.py  how files are split, and that all machines read the same ones
    tasks.py        what a worker runs
    connection.py   connects, waits for workers, and disconnects
    dask.py         runs tasks on a cluster
    slurm.py        starts workers for one run
"""
