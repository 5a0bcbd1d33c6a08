"""What statements say, once they are read: values, free of text and of sqlglot.

`tree` holds queries and expressions, `declarations` the actions of ALTER TABLE, `commands` every
other statement; `printer` writes expressions as DuckDB's SQL. The dialect makes these values, and
all that is above it uses them.
"""

from sqlpriv.statements.printer import (
    alter_text,
    default_name,
    literal,
    quote_name,
    sql,
    written_name,
)
from sqlpriv.statements.table_names import tables

__all__ = ["alter_text", "default_name", "literal", "quote_name", "sql", "tables", "written_name"]
