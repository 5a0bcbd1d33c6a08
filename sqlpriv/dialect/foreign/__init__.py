"""What trees of other dialects mean in DuckDB.

`tree_rewriter` walks a tree, `same_meaning` is the closed table of what means the same, with
`same_operators` and `same_calls`; `function_names` and `function_writers` know the functions. What
no table names is refused where it stands.
"""
