"""What any other statement says, once it is read: releases, settings, questions; `declarations` has
the actions of ALTER TABLE.

As in `tree`: frozen values, names not yet looked up, and `pos` takes no part in equality.
"""

# ruff: noqa: RUF009  # `optional_place()` only writes out the same dataclass field again and again.
from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Value
from sqlpriv.statements.declarations import Action
from sqlpriv.statements.tree import Bound, Options, Origin, Pos, Select, optional_place


@dataclass(frozen=True)
class Plain:
    """A statement that only DuckDB itself can run.

    Args:
        text: The statement.
        tables: Every table that it names, as written (lower case, unqualified); a table function
            as `name()`, a file as `'path'`. Where the statement could not be taken apart, every
            name in it.
        reads_only: It is a query (SELECT, WITH, FROM, VALUES, DESCRIBE …) and nothing else.
        parameters: What to bind when DuckDB runs it.
        start: Where it begins in the user's text.
    """

    text: str
    tables: tuple[str, ...]
    reads_only: bool
    parameters: Bound = field(default=(), compare=False)
    start: Pos = optional_place()


@dataclass(frozen=True)
class Unanswerable:
    """A statement that cannot be answered privately as a whole.

    Args:
        statement: What DuckDB can run where nothing private is concerned; or a SELECT of which only
            the queries of WITH (`stages`) can be answered.
        why: Raised when a private table is among the tables, and when an analyst runs a statement
            that is not `reads_only`.
        asks: A clause of ours in it asks for a private answer: DuckDB cannot run it.
        origin: The query as it was parsed, whose parts may be answered.
    """

    statement: Plain | Select
    why: Refused = field(compare=False)
    asks: bool = False
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def refusal(self) -> Refused:
        """`why`, each time another object: what is raised holds on to the frames that raised it."""
        return copy(self.why)

    @property
    def text(self) -> str:
        return self.statement.text

    @property
    def parameters(self) -> Bound:
        return self.statement.parameters

    @property
    def start(self) -> Pos:
        return self.statement.start


@dataclass(frozen=True)
class AlterPrivacy:
    """`ALTER TABLE table <action>` for one of our actions."""

    table: str
    action: Action
    text: str = field(default="", compare=False)
    pos: Pos = optional_place()


@dataclass(frozen=True)
class GrantSelect:
    """`GRANT SELECT ON t TO 'ada', PUBLIC` (allowed) or `REVOKE SELECT ON t FROM 'ada'`.

    `tables` are as written, none for ALL TABLES; `principals` too, `*` for PUBLIC.
    """

    tables: tuple[str, ...]
    principals: tuple[str, ...]
    allowed: bool
    pos: Pos = optional_place()


@dataclass(frozen=True)
class CreateUnitTable:
    """`CREATE PU TABLE t (…, PRIVACY_KEY (col), PRIVACY_LINK (c) REFERENCES p(k))`.

    `create` is the plain CREATE TABLE with our clauses taken out, `actions` what they said
    (SetUnit(on=True) included).
    """

    table: str
    create: str
    actions: tuple[Action, ...]
    text: str = field(default="", compare=False)


@dataclass(frozen=True)
class CreateFileTable:
    """`CREATE [OR REPLACE] TABLE [IF NOT EXISTS] t FROM PARQUET 'path' | ('path', …)`, `… FROM
    ICEBERG 'metadata.json' [SNAPSHOT n]` or `… FROM DUCKDB 'path' [TABLE name]`: a table whose rows
    stay in files.

    `form` is PARQUET, ICEBERG or DUCKDB; `paths` are as written, with `*` for many files; `inside`
    is the table's name in a DuckDB file, '' for another form.
    """

    table: str
    form: str
    paths: tuple[str, ...]
    inside: str = ""
    snapshot: int | None = None
    or_replace: bool = False
    if_not_exists: bool = False
    pos: Pos = optional_place()


# --- Everything else -----------------------------------------------------------------------------


@dataclass(frozen=True)
class CreateSynthetic:
    """`CREATE [OR REPLACE] SYNTHETIC TABLE name AS SELECT … USING method [OPTIONS (…)]`.

    `select.stratify` may be set; there is no GROUP BY, HAVING, ORDER BY or LIMIT.
    """

    name: str
    select: Select
    method: str
    options: Options = ()
    or_replace: bool = False
    text: str = field(default="", compare=False)
    pos: Pos = optional_place()


@dataclass(frozen=True)
class TableColumns:
    """A table, and the columns of it that are named; none for all that can be taken."""

    name: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class CreateSyntheticSchema:
    """`CREATE [OR REPLACE] SYNTHETIC SCHEMA name AS TABLES t [(column, …)], … USING method
    [OPTIONS (…)]`: linked tables, one price for all."""

    name: str
    tables: tuple[TableColumns, ...]
    method: str
    options: Options = ()
    or_replace: bool = False
    text: str = field(default="", compare=False)
    pos: Pos = optional_place()


@dataclass(frozen=True)
class DrawFromModel:
    """`CREATE [OR REPLACE] SYNTHETIC TABLE name FROM MODEL model ROWS rows [WHERE predicate]
    [OPTIONS (seed = 1)]`. `where` is the predicate's text."""

    name: str
    model: str
    rows: int
    where: str | None = None
    options: Options = ()
    or_replace: bool = False
    text: str = field(default="", compare=False)
    pos: Pos = optional_place()


@dataclass(frozen=True)
class DropSynthetic:
    """`DROP SYNTHETIC TABLE [IF EXISTS] name`."""

    name: str
    if_exists: bool = False
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Evaluate:
    """`EVALUATE SYNTHETIC TABLE synthetic AGAINST real STRATIFY BY strata [OPTIONS (…)]`."""

    synthetic: str
    real: str
    strata: tuple[str, ...]
    options: Options = ()
    text: str = field(default="", compare=False)
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Show:
    """`SHOW PRIVACY TABLES | BUDGET | RELEASES | DECLARATIONS`, `SHOW GRANTS | SYNTHESIZERS`.

    `what` is in lower case.
    """

    what: str
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Describe:
    """`DESCRIBE table`, or `PRAGMA table_info('table')`.

    Args:
        table: Its name.
        text: The statement as it was written.
        pos: Where it begins.
        as_pragma: Whether the columns are those of DuckDB's PRAGMA.
    """

    table: str
    text: str = field(default="", compare=False)
    pos: Pos = optional_place()
    as_pragma: bool = False


@dataclass(frozen=True)
class SetOption:
    """`SET privacy_… = value` (name lower case), value None for RESET."""

    name: str
    value: Value
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Explain:
    """`EXPLAIN PRIVACY <statement>`."""

    statement: Select | CreateSynthetic | CreateSyntheticSchema | AlterPrivacy | Unanswerable
    pos: Pos = optional_place()


@dataclass(frozen=True)
class Publish:
    """`PUBLISH [table, …] TO 'target'`: released tables, all of them if none is named."""

    tables: tuple[str, ...]
    target: str
    pos: Pos = optional_place()


_Query = Select | Unanswerable | Explain
_Declaration = AlterPrivacy | GrantSelect | CreateUnitTable | CreateFileTable
_OfSynthetic = CreateSynthetic | CreateSyntheticSchema | DrawFromModel | DropSynthetic | Evaluate
Statement = _Query | _Declaration | _OfSynthetic | Show | Describe | SetOption | Publish
