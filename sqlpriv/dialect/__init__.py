"""SQL text in, statements out. sqlglot's tree does not leave this folder.

`tokens` and `clauses` cut a text, `reading` makes statements of it,
`foreign` knows what other dialects mean, `division` parts a query.
"""

from sqlpriv.dialect.parameters import parameter_names
from sqlpriv.dialect.reading.parse import read, read_parts
from sqlpriv.dialect.reading.statement_texts import DIALECTS, complete, split, split_with_parameters
from sqlpriv.dialect.tokens import without_literals

__all__ = [
    "DIALECTS",
    "complete",
    "parameter_names",
    "read",
    "read_parts",
    "split",
    "split_with_parameters",
    "without_literals",
]
