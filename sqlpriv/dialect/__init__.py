"""SQL text in, statements out; expressions back to SQL. sqlglot's tree does not leave this folder.

`tree` holds what statements are, `read` cuts and dispatches, `select`, `expression`, `operands` and
`ddl` are the grammar over the tokens of `tokens`; `plain` and `tables` deal with what only DuckDB
can run.
"""

from sqlpriv.dialect.parameters import parameter_names
from sqlpriv.dialect.parse import complete, read, split, split_with_parameters
from sqlpriv.dialect.printer import default_name, literal, quote_name, sql
from sqlpriv.dialect.tokens import without_literals

__all__ = [
    "complete", "default_name", "literal", "parameter_names", "quote_name", "read", "split",
    "split_with_parameters", "sql", "without_literals",
]  # fmt: skip
