"""`dpsel plan`: what an epsilon will buy, from public guesses and simulated tables."""
