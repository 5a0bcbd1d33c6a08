"""Synthesizers: they see Releases and public domains, never a row."""
