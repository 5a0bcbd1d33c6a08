"""What was declared, charged and released: one SQLite file that only grows."""
