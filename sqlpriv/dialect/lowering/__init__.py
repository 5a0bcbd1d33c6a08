"""sqlglot's trees → our own, node by node from a closed table.

`query_lowering` reads whole queries, `source_lowering` FROM, `group_lowering` GROUP BY;
`node_lowering` reads expressions by `node_table`.
"""
