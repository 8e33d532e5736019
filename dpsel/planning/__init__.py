"""What an epsilon will buy: from public guesses and simulated tables, before a table is opened."""
