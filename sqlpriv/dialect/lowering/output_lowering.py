"""The outputs of a SELECT, each with the user's own text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from sqlglot import exp

from sqlpriv.dialect.constructs import STAR
from sqlpriv.dialect.lowering.node_lowering import Glot, NodeLowering
from sqlpriv.dialect.marks import SHOWN_NAME
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import Refused
from sqlpriv.statements import default_name
from sqlpriv.statements.tree import Item, Name

_BEFORE_OUTPUTS = ("SELECT", "DISTINCT", "ALL", ",", ")")


def lower_outputs(
    nodes: NodeLowering, outputs: Sequence[Glot], stars: bool, select: Token
) -> tuple[Item, ...]:
    """Returns what stands behind SELECT; * stands among outputs where `stars` may."""
    if not outputs:
        raise nodes.refuse_unexpected(nodes.index_of(select.pos) + 1, "an expression")
    items: list[Item] = []
    for node in outputs:
        items += _star(nodes, node) if stars and _is_star(node) else [_item(nodes, node)]
    return tuple(items)


def _star(nodes: NodeLowering, node: Glot) -> list[Item]:
    """Reads * and t.* among the outputs of a query inside another, or of rows; behind it come the
    outputs that replace columns of it."""
    star = node if isinstance(node, exp.Star) else node.this
    nodes.check_arguments(star, ("except_", "rename", "replace"))
    name = Name("*", pos=nodes.token(star).pos)
    if star is not node:
        nodes.check_arguments(node, ("this", "table"))
        table = node.args["table"]
        name = Name("*", nodes.name(table), nodes.token(table).pos)
    renamed = tuple(
        (_star_column(nodes, alias.this).lower(), nodes.name(alias.args["alias"]))
        for alias in star.args.get("rename") or ()
    )
    excluded = tuple(_star_column(nodes, x).lower() for x in star.args.get("except_") or ())
    items = [Item(name, excluded=excluded, renamed=renamed)]
    for alias in star.args.get("replace") or ():
        nodes.check_arguments(alias, ("this", "alias"))
        expr = nodes.expression(alias.this)
        items.append(Item(expr, nodes.name(alias.args["alias"]), replaces=True))
    return items


def _star_column(nodes: NodeLowering, node: Glot) -> str:
    """Returns the name of a column that * is not to give, or by another name."""
    if not isinstance(node, exp.Column):
        raise nodes.refuse_unexpected(nodes.index(node), "the name of a column")
    nodes.check_arguments(node, ("this",))
    return nodes.name(node.this)


def _item(nodes: NodeLowering, node: Glot) -> Item:
    if isinstance(node, exp.Star):
        raise Refused.at(nodes.token(node), *STAR)
    if not isinstance(node, exp.Alias):
        expr = nodes.expression(node)
        shown_name = node.meta.get(SHOWN_NAME, "")
        own = "" if shown_name == default_name(Item(expr)) else shown_name
        return Item(expr, own, text_of_output(node, nodes.tokens, nodes.text))
    nodes.check_arguments(node, ("this", "alias"))
    expr = nodes.expression(node.this)
    alias = node.args["alias"]
    return Item(expr, nodes.name(alias))


def text_of_output(output: Glot, tokens: Sequence[Token], text: str) -> str:
    """Returns an output as the user wrote it; '' where brackets do not tell where it ends."""
    places = [part for part in output.walk() if "start" in part.meta]
    part = min(places, key=lambda place: place.meta["start"], default=output)
    first = bisect_left(tokens, part.meta.get("start", 0), key=lambda token: token.start)
    inside = 0  # queries within the output whose SELECT stands before
    while part is not output and part.parent is not None:
        part = part.parent
        inside += isinstance(part, exp.Select)
    while first and (inside or tokens[first - 1].upper not in _BEFORE_OUTPUTS):
        first -= 1
        is_first = tokens[first].upper == "FROM" and tokens[first - 1].upper == "("
        inside -= is_first or tokens[first].upper == "SELECT"
    last = depth = 0
    for last in range(first, len(tokens)):
        word = tokens[last].upper
        depth += (word in ("(", "[", "{")) - (word in (")", "]", "}"))
        if depth < 0:
            return ""
        if tokens[last].kind is Kind.END or (depth == 0 and word in (",", "FROM")):
            break
    return text[tokens[first].start : tokens[last].start]


def _is_star(node: Glot) -> bool:
    """Returns whether an output is * or t.*."""
    return isinstance(node, exp.Star) or (
        isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    )
