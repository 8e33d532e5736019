"""Dictionaries: public facts about the columns of a table, written once and used by every run."""
