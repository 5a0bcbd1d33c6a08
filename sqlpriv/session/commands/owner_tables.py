"""ALTER TABLE … PRIVACY … and CREATE PU TABLE: what an owner says of tables, and its effect."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from sqlpriv.errors import DeclarationError, Error, Refused
from sqlpriv.kernel.sql.quoting import name
from sqlpriv.kernel.terms.contract import UNDECLARED, TableContract
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.quote import Quote
from sqlpriv.session.access.result import Result
from sqlpriv.session.commands.declare import declare
from sqlpriv.session.declarations.auto_declarations import (
    Auto,
    explain_declaration,
    measure_declaration,
    quote_declaration,
)
from sqlpriv.session.declarations.declared_domains import check_domain
from sqlpriv.session.declarations.declared_effects import (
    rows_beyond_bound,
    rows_of_no_parent,
    rows_outside,
)
from sqlpriv.session.declarations.dictionary_declarations import declarations_of_dictionary
from sqlpriv.session.declarations.linking_columns import linking_columns
from sqlpriv.session.declarations.schema_declarations import declarations_of_schema
from sqlpriv.session.declarations.windows import with_rows_seen
from sqlpriv.statements import alter_text
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import declarations as decl
from sqlpriv.statements import tree as t

_ORDER = (
    decl.SetPublic,
    decl.AddPrivacyKey,
    decl.AddPrivacyLink,
    decl.SetBound,
    decl.SetUnit,
    decl.SetDomainIn,
    decl.SetDomainBetween,
    decl.SetDomainReferences,
    decl.SetWindow,
    decl.SetBudget,
)
"""Many declarations are made in this order, whatever order they are written in: a unit needs its
key and its bound, and a budget the key. A table's own budget comes before the ceilings under it."""
_DOMAINS = decl.SetDomainIn | decl.SetDomainBetween | decl.SetDomainReferences
_BOUNDS = decl.AddPrivacyLink | decl.SetBound | decl.SetUnit


def alter_table(alter: cmd.AlterPrivacy, access: Access) -> Result:
    """Declares what one ALTER TABLE says: see `alter_tables`."""
    (result,) = alter_tables((alter,), access)
    return result


def alter_tables(alters: Sequence[cmd.AlterPrivacy], access: Access) -> list[Result]:
    """Declares in turn what ALTER TABLEs say that follow one another in a text, each all of it or
    nothing; tells of each how many rows it leaves out.

    Bounds are verified once, behind the last: no other statement is between them, so the rows are
    the same. Until then reads enforce every bound by a pass, as of any state without facts.

    Raises:
        PermissionDenied: It is no owner who asks.
        Refused, DeclarationError: There is no such table, or a declaration does not fit it. What
            was declared before it stands, and is verified; of what follows nothing is declared.
    """
    results: list[Result] = []
    try:
        for alter in alters:
            results.append(_declare_one(alter, access))
    except BaseException:
        if results:
            with suppress(Error):  # the first error is the one that is told
                _verify(access)
        raise
    _verify(access)
    return results


def _verify(access: Access) -> None:
    access.tables.settle()
    access.kernel.verify()


def _declare_one(alter: cmd.AlterPrivacy, access: Access) -> Result:
    """Declares what one ALTER TABLE says, and verifies nothing."""
    contract = _owners_table(alter, access)
    actions: Sequence[decl.Action] = (alter.action,)
    if isinstance(alter.action, decl.DeclareMany):
        _refuse_measured(alter.action.actions, alter.table)
        actions = sorted(alter.action.actions, key=_rank)
    if isinstance(alter.action, decl.DeclareFromSchema):
        actions = declarations_of_schema(access, contract)
    notes: Sequence[str] = ()
    if isinstance(alter.action, decl.DeclareFromFile):
        read, notes = declarations_of_dictionary(
            Path(alter.action.path).expanduser(), contract, partial(check_domain, access.kernel)
        )
        actions = sorted(read, key=_rank)
    if isinstance(alter.action, decl.SetDomainAuto | decl.SetBoundAuto):
        return _declare_measured(alter.action, contract, access, alter.text)
    try:
        messages = _declare_all(actions, alter.table.lower(), access)
    except DeclarationError as error:
        if len(actions) == 1:
            raise
        raise DeclarationError(f"{error}; of all {len(actions)} nothing was declared") from None
    return Result(message="\n".join((*messages, *notes)))


def _declare_measured(action: Auto, contract: TableContract, access: Access, text: str) -> Result:
    """Declares what noised counts say. What it leaves out is estimated by them: an exact number
    would not be for everybody who may see a noised one."""
    measured = measure_declaration(action, contract, access, text)
    message = declare(access.kernel, measured.action, contract, access.principal)
    return Result(message=f"{message}; {measured.left_out}")


def explain_alter(alter: cmd.AlterPrivacy, access: Access) -> Result:
    """Returns what a declaration by noised counts would measure and cost.

    Raises:
        PermissionDenied: It is no owner who asks.
        Refused, DeclarationError: As declaring it would.
    """
    return explain_declaration(alter.action, _owners_table(alter, access), access)


def _owners_table(alter: cmd.AlterPrivacy, access: Access) -> TableContract:
    """Returns the contract of the table that an owner declares something of."""
    access.needs_owner("declare what protects a table", alter.pos)
    contract = access.tables.contracts().get(alter.table.lower())
    if contract is None:
        message = f'there is no table "{alter.table}"'
        raise Refused.at(alter.pos, message, access.sql.tables_hint(alter.table))
    return contract


def create_unit_table(create: cmd.CreateUnitTable, access: Access) -> Result:
    """Creates a table and declares what its CREATE PU TABLE says; both happen or neither.

    Raises:
        PermissionDenied: It is no owner who asks.
        DeclarationError: A declaration does not fit the table.
    """
    access.needs_owner("create a table", t.Pos())
    assert access.owner is not None
    table = create.table.lower()
    replaced = access.tables.contracts().get(table)
    _refuse_measured(create.actions, create.table)
    if replaced is not None and replaced.public:  # where it is replaced, nothing brings it back
        raise DeclarationError(
            f"{create.table} is public; {alter_text(create.table)} UNSET PUBLIC first"
        )
    access.owner.run(create.create)
    try:
        _declare_all(create.actions, table, access)
    except DeclarationError:
        if replaced is None:
            access.owner.run(f"DROP TABLE {name(create.table)}")
        raise
    access.kernel.verify()
    return Result(message=f"created {create.table}; each of its units is protected")


def quote_alter(alter: cmd.AlterPrivacy, access: Access) -> Quote:
    """Returns what a declaration would cost: nothing, but where it is found by noised counts."""
    contract = access.tables.contracts().get(alter.table.lower())
    if contract is None or not isinstance(alter.action, decl.SetDomainAuto | decl.SetBoundAuto):
        return Quote()
    access.needs_owner("declare what protects a table", alter.pos)
    return quote_declaration(alter.action, contract, access)


def _refuse_measured(actions: Sequence[decl.Action], table: str) -> None:
    """Refuses declarations by noised counts in a list, which is made all or not at all."""
    if any(isinstance(one, decl.SetDomainAuto | decl.SetBoundAuto) for one in actions):
        raise DeclarationError(
            f"what is found by noised counts is charged, so it stands alone: {alter_text(table)} …"
        )


def _rank(action: decl.Action) -> tuple[int, bool]:
    return _ORDER.index(type(action)), isinstance(action, decl.SetBudget) and bool(action.holder)


def _declare_all(actions: Sequence[decl.Action], table: str, access: Access) -> list[str]:
    """Makes all of these declarations or, where one does not fit, none of them.

    Returns:
        Of each, what was declared and how many rows it leaves out, in words for the owner.
    """
    links = [action for action in actions if isinstance(action, decl.AddPrivacyLink)]
    for link in links:
        _check_parent_key(access, link)
    contract = access.tables.contracts()[table]
    changes: dict[type[decl.Action], str] = {}
    for at, action in enumerate(actions):
        if isinstance(action, decl.SetWindow):
            with_rows, changes[decl.SetWindow] = with_rows_seen(action, contract, access)
            actions = [*actions[:at], with_rows, *actions[at + 1 :]]
    access.tables.settle()
    with access.kernel.ledger.begin("IMMEDIATE"):
        messages = []
        for action in actions:
            messages.append(declare(access.kernel, action, contract, access.principal))
            contract = access.kernel.contracts()[table]
        for link in links:
            _ask_for_bound(access, contract, link)
    last_bound = next((a for a in reversed(actions) if isinstance(a, _BOUNDS)), None)
    protects = any(action == decl.SetUnit(True) for action in actions)  # which tells of the key
    answers = [
        message
        + _rows_left_out(action, contract, access, is_last_bound=action is last_bound)
        + changes.get(type(action), "")
        for action, message in zip(actions, messages, strict=True)
        if not (protects and isinstance(action, decl.AddPrivacyKey))
    ]
    access.tables.settle()
    return answers


def _ask_for_bound(access: Access, contract: TableContract, link: decl.AddPrivacyLink) -> None:
    """Refuses a link of many rows to one unit where nobody said how many of them count."""
    named = contract.unit.columns if contract.unit is not None else (link.column.lower(),)
    body = access.kernel.ledger.declarations()[1][contract.table.lower()]
    if body["bound"] is None and not contract.unique.intersection(named):
        raise DeclarationError(
            f"say how many rows of one unit count in {contract.table}, before its link:"
            f" {alter_text(contract.table)} SET PRIVACY BOUND (rows_per_unit = …); in a list, write"
            " BOUND (rows_per_unit = …)"
        )


def _check_parent_key(access: Access, link: decl.AddPrivacyLink) -> None:
    """Refuses a link to a key that occurs twice, where the parent keeps one row of a unit: rows
    would meet more parents than anybody said, and sums over the join be too large. A key of files
    is no PRIMARY KEY, which would have kept it single."""
    parent = access.tables.contracts().get(link.table.lower())
    keys = [theirs for _, theirs in link.pairs]
    if parent is None or not all(map(parent.column, keys)):
        return  # `declare` says so
    body = access.kernel.ledger.declarations()[1].get(link.table.lower(), UNDECLARED)
    if parent.unique.intersection(map(str.lower, keys)) or (body["bound"] or (1, 1))[0] > 1:
        return
    assert access.owner is not None
    columns, table = ", ".join(map(name, keys)), name(parent.table)
    named = " AND ".join(f"{name(key)} IS NOT NULL" for key in keys)
    twice = f"SELECT 1 FROM {table} WHERE {named} GROUP BY {columns} HAVING count(*) > 1"
    if access.owner.read_rows(f"{twice} LIMIT 1"):
        raise DeclarationError(
            f"{', '.join(keys)} occurs more than once in {parent.table}, so that a link to it leads"
            " to several rows; take out the rows that are doubled or, if a unit does have several,"
            f" first {alter_text(parent.table)} SET PRIVACY BOUND (rows_per_unit = …)"
        )


def _rows_left_out(
    action: decl.Action, contract: TableContract, access: Access, is_last_bound: bool
) -> str:
    """Returns, in words for the owner, how many rows a domain, a bound or a link leaves out."""
    assert access.owner is not None
    words = ""
    if isinstance(action, decl.AddPrivacyLink):
        named = linking_columns(action)
        (link,) = (link for link in contract.links if linking_columns(link) == named)
        words = rows_of_no_parent(access.owner, contract, link)
    if is_last_bound:
        return words + rows_beyond_bound(access.owner, contract)
    if isinstance(action, _DOMAINS) and (listed := contract.column(action.column)):
        return rows_outside(access.owner, contract, listed)
    return words
