"""Plain SQL over answers: run, with NULL where it fails on some of them."""
