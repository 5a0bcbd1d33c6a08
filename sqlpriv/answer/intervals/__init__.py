"""Ends of 95 % intervals."""
