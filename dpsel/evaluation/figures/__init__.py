"""The figures of an evaluation; they import matplotlib, so only a report imports them."""
