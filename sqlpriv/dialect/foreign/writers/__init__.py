"""How DuckDB writes calls of other dialects: each writer makes one expression of the arguments."""
