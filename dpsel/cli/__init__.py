"""The command line: one thin module per command. The only folder that imports Typer and Rich."""
