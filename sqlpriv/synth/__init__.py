"""Synthetic tables: one file per synthesizer, one per shared step; no file here sees a row."""
