"""Reading tables: files, folders, stores, stdin and frames become batches for the core.

The order in which to read:

    table.py                 what a table is, and the threads that read it in batches
    columns.py               what columns are, and which of them are features, target and person
    column_names.py          columns by the names that a user gave
    labels.py                the target's labels as numbers
    bounds_file.py           public bounds
    provenance.py            how `dpsel preprocess` made a table, and what that does to a guarantee
    errors.py                plain errors: libraries quote cells, we do not
    cell_counts.py           what the data holder is told about cells

    opening.py               from a path, a folder, a glob, stdin or a frame to a table
    formats.py               the formats, and how they are recognized
    table_files.py           the files of a table: which they are, and their format
    sources.py, identity.py  one file, opened for reading, and whether it changes meanwhile
    places.py, stores.py     addresses such as s3://bucket/folder, and the files there
    hive.py                  columns in the names of folders

    delimited.py             CSV and TSV, with delimited_rows.py, delimited_cells.py and cells.py
    parquet.py               Parquet
    wide_parquet.py          Parquet with few rows and thousands of columns, with parquet_footer.py
    arrow.py                 Arrow files, streams and frames, with arrow_cells.py
    objects.py               frames with columns of Python objects
    words.py, distinct.py    texts as words of the core, and the distinct values of a column

    spill.py                 rows that do not fit in memory
    whole_columns.py         all rows of a few features at a time
    transposed.py            features in rows, such as genes x samples
    series_matrix.py         GEO series matrices
    raw.py                   tables that `preprocess` and `evaluate` read more than once
    header.py                the names of columns for shell completion, without any library
"""
