"""Lists of sqlglot's tokens: what stands between commas, in brackets and outside of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token as GlotToken
from sqlglot.tokenizer_core import TokenType as Type

from sqlpriv.dialect.tokens import replacement_token

Glots = list[GlotToken]
OPEN, CLOSE = (Type.L_PAREN, Type.L_BRACKET), (Type.R_PAREN, Type.R_BRACKET)
_SIGNS = {Type.STAR: "*", Type.COMMA: ",", Type.L_PAREN: "(", Type.R_PAREN: ")", Type.ALIAS: "AS"}
"""What is written otherwise than its type is called."""


def sign(at: GlotToken, type_: Type) -> GlotToken:
    """Returns a word or a sign in the place of a token."""
    return replacement_token(at, type_, _SIGNS.get(type_) or type_.name.replace("_", " "))


@dataclass(frozen=True)
class ListedItem:
    """One of a list: an expression, the name behind AS, and the words by which it is ordered."""

    written: Glots
    name: Glots
    order: Glots

    @property
    def output(self) -> Glots:
        """The item as an output."""
        return [*self.written, *self.name]

    @property
    def ordered(self) -> Glots:
        """The item as one of ORDER BY: by its name, where it has one."""
        return [*(self.name[1:] or self.written), *self.order]


def read_item(glots: Glots) -> ListedItem:
    """Returns an item's parts; the name is written with AS."""
    texts = [glot.text.upper() for glot in glots]
    end = len(texts) - (2 if texts[-2:-1] == ["NULLS"] else 0)
    end -= texts[:end][-1:] in (["ASC"], ["DESC"])
    is_named = end > 2 and glots[end - 2].token_type is Type.ALIAS
    name = end - 2 if is_named else end
    return ListedItem(glots[:name], glots[name:end], glots[end:])


def outside_brackets(glots: Sequence[GlotToken]) -> Iterator[Glots]:
    """Yields each token by itself, and each bracket with all that it holds."""
    start = depth = 0
    for i, glot in enumerate(glots):
        depth += (glot.token_type in OPEN) - (glot.token_type in CLOSE and depth > 0)
        if depth == 0:
            yield list(glots[start : i + 1])
            start = i + 1
    if start < len(glots):
        yield from ([glot] for glot in glots[start:])  # a bracket that nothing closes


def parts_between(glots: Sequence[GlotToken], at: Type) -> list[Glots]:
    """Returns what stands between the tokens of a type that stand in no bracket."""
    parts: list[Glots] = [[]]
    for part in outside_brackets(glots):
        if part[0].token_type is at:
            parts.append([])
        else:
            parts[-1] += part
    return parts


def comma_list(at: GlotToken, items: Sequence[Glots]) -> Glots:
    """Returns items with commas between them."""
    return [glot for item in items for glot in (sign(at, Type.COMMA), *item)][1:]


def in_parentheses(at: GlotToken, glots: Glots) -> Glots:
    return [sign(at, Type.L_PAREN), *glots, sign(at, Type.R_PAREN)]
