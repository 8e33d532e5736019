"""Reading tables: files, folders, stores, stdin and frames become batches for the core."""
