"""A package, so that one cluster can serve all tests here and end with the last of them."""
