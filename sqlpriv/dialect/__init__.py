"""SQL text in, statements out. sqlglot's tree does not leave this folder.

`tokens` and `clauses` cut the text, `reading` makes statements of it, `division` parts a query.
"""

from sqlpriv.dialect.foreign.translate import DIALECTS, Translation, translate
from sqlpriv.dialect.parameters import parameter_names
from sqlpriv.dialect.reading.parse import complete, read, split, split_with_parameters
from sqlpriv.dialect.tokens import without_literals

__all__ = [
    "DIALECTS",
    "Translation",
    "complete",
    "parameter_names",
    "read",
    "split",
    "split_with_parameters",
    "translate",
    "without_literals",
]
