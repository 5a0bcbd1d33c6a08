"""Outputs: what is computed of the cells' columns, by DuckDB or as they are."""
