"""Means that are measured in rounds: bins, queries and rounds."""
