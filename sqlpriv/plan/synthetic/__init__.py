"""What a synthetic table is made of, read from its statement."""
