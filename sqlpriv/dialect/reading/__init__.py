"""Tokens in, statements out.

`parse` tells a text's statements apart by their first words. `ddl` reads our own statements,
`lower_query` and `lower` turn sqlglot's tree of a query and of its expressions into ours, and
`plain` holds what only DuckDB can run.
"""
