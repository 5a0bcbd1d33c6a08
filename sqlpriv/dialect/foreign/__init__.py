"""What trees of other dialects mean in DuckDB.

`tree_rewriter` walks a tree, `same_meaning` is the closed table of what means the same, with
`same_names`, `same_operators`, `same_types` and `same_calls`; `function_names` knows the functions,
and `writers` how DuckDB writes those that differ. What no table names is refused where it stands.
"""
