"""The command line; adds typer and rich."""
