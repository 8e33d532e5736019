"""The command line: one thin module per command. The only folder that imports Typer and Rich.

The order in which to read:

    app.py                    imports the command that is run; errors become messages and exit codes
    forms.py                  makes commands from records, and converts the words
    options.py, config.py     options that many commands share, and --config
    terminal.py, bar.py       what the data holder sees on stderr

    select.py, baseline.py    the two commands that release, by way of releasing.py
    preprocess.py, plan.py    two that release nothing
    evaluate.py, results.py   an evaluation, and its results as tables
    audit.py, reproduce.py    audits, and the paper's experiments
    budget.py, card.py        ledgers, and pages about releases
    dictionary.py             public facts about columns

    completion.py, shells.py  completion in bash, zsh and fish
    man.py                    the man page
"""
