"""Joins: which names their rows have, in which order they stand, and where filters go."""
