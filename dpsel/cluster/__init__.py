"""Work on the machines of a Dask cluster: the extra `dask`, imported where it is used."""
