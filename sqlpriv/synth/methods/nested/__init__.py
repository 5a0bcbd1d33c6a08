"""Synthesizers of nested places: counts of every level, from the whole down, that agree."""
