"""Work that is shared out: over processes of this machine, over shards, over a Dask cluster."""
