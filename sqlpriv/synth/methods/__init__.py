"""The synthesizers: one file each."""
