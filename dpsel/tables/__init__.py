"""Files: tables, bounds and records; adds polars and pyarrow to the core."""
