"""Tokens in, statements out.

`statement_texts` parts a text, `parse` tells its statements apart by their first words, `ddl` and
`alter_actions` read our own, `parsed_query` holds a query, `plain` what only DuckDB can run.
"""
