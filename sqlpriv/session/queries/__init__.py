"""Statements that are asked of private rows, and what follows from their answers."""
