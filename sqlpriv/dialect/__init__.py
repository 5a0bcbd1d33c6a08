"""SQL text in, statements out; expressions back to SQL. sqlglot's tree does not leave this folder.

`tree` and `commands` hold what statements are, `tokens` and `clauses` cut the text, `reading` makes
statements of it, `division` parts a query, and `printer` writes expressions as SQL.
"""

from sqlpriv.dialect.foreign.translate import DIALECTS, Translation, translate
from sqlpriv.dialect.parameters import parameter_names
from sqlpriv.dialect.printer import default_name, literal, quote_name, sql
from sqlpriv.dialect.reading.parse import complete, read, split, split_with_parameters
from sqlpriv.dialect.tokens import without_literals

__all__ = [
    "DIALECTS",
    "Translation",
    "complete",
    "default_name",
    "literal",
    "parameter_names",
    "quote_name",
    "read",
    "split",
    "split_with_parameters",
    "sql",
    "translate",
    "without_literals",
]
