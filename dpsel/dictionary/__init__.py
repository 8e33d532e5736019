"""Dictionaries: public facts about the columns of a table, written once and used by every run.

The order in which to read:

    facts.py      the records: facts about columns, target, persons and groups
    toml_file.py  a dictionary as a TOML file
    described.py  a dictionary applied to one table
    check.py      how well a table fits; for the data holder only
    imports.py    recognizes dictionaries of other tools: redcap.py, table_schema.py, csvw.py and
                  smartnoise.py, which share imported_facts.py
    options.py    the options of `dpsel dictionary`, and --dictionary
"""
