"""`dpsel audit`: tests the guarantees of mechanisms, scores and the whole command from outside."""
