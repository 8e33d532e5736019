"""Work on the machines of a Dask cluster. Dask is an extra, imported only where it is used."""
