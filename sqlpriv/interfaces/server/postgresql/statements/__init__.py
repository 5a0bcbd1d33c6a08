"""Statements of a client: which kind each is, its parameters, cursors and answers."""
