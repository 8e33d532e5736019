"""The figures of an evaluation; they import matplotlib, so only a report imports them.

The order in which to read:

    style.py, palette.py  what all figures share: settings, stamp, colours
    panels.py             grids of small panels against epsilon
    curves.py             accuracy and order statistics
    frequencies.py        how often each feature was picked
    heatmap.py            the difference between two methods
"""
