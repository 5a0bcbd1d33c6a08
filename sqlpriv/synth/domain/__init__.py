"""Columns as levels: bins, structural zeros, and the way back to values."""
