"""Cards: a page about a release, for those who sign it and those who read it. All public.

The order in which to read:

    record.py           reads and checks a record, which may come from anyone
    content.py          what a card says, in sentences
    pages.py            the page, in Markdown or HTML
    registry.py         an entry for the public registry of deployments, in YAML
    options.py, api.py  the options of `dpsel card`, and the function `dpsel.card`
"""
