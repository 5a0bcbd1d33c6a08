"""Adapters for programs that are not ours: SQLAlchemy, Harlequin."""
