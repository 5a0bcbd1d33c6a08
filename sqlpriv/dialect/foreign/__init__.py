"""SQL of other dialects: read by sqlglot's parser for that dialect, written as DuckDB's SQL.

`translate` takes a text apart into statements and puts our own clauses back where they stood;
`same_meaning` is the closed table of what means the same in DuckDB, and `function_names` its part
about functions. What no table names is refused where it stands. `place_alignment` leads errors in
the written text back to the user's own.
"""
