"""A place in a statement's tokens: what stands there, taking it, and saying what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from sqlpriv.dialect.constants import MOMENT_TYPES, date_or_time, number
from sqlpriv.dialect.constructs import CONSTRUCTS
from sqlpriv.dialect.parameters import Binding
from sqlpriv.dialect.tokens import Kind, Token
from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Value
from sqlpriv.statements import literal, quote_name
from sqlpriv.statements.keywords import RESERVED
from sqlpriv.statements.tree import Bound, Options

T = TypeVar("T")
_WORDS: dict[str, Value] = {"NULL": None, "TRUE": True, "FALSE": False}
_MOMENTS = {n: n for n in MOMENT_TYPES} | {"DATETIME": "TIMESTAMP"}
MAX_DEPTH = 100
"""How deep expressions may nest: all walks over trees recurse, and Python's stack is finite."""


class TokenCursor:
    """Reads one statement's tokens from left to right, never back.

    Args:
        tokens: Those of the statement; the last is of kind END.
        text: The whole text that their offsets refer to.
        binding: The values of the parameters.
        dialect: sqlglot's name of the dialect that the text is written in.
        numbers: The number of each parameter written `?`, by its offset in the text.
    """

    def __init__(
        self,
        tokens: Sequence[Token],
        text: str,
        binding: Binding,
        dialect: str = "duckdb",
        numbers: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self.tokens, self.text, self.binding = tokens, text, binding
        self.dialect, self.numbers = dialect, numbers
        self.index = 0

    def parameter_text(self, token: Token) -> str:
        """Returns a parameter as DuckDB writes it, with its name or its number."""
        return f"${token.value or self.numbers[token.start]}"

    def share(self, tokens: Sequence[Token]) -> Bound:
        """Returns what DuckDB is to be given beside the text that those tokens become."""
        if self.dialect == "duckdb":
            return self.binding.share(tokens)
        marks = [token for token in tokens if token.kind is Kind.PARAMETER]
        return {self.parameter_text(x)[1:]: self.binding.by_start[x.start] for x in marks}

    def runnable(self, tokens: Sequence[Token]) -> str:
        """Returns tokens as DuckDB takes them; those of other dialects in DuckDB's quotes."""
        if self.dialect != "duckdb":
            return " ".join(map(self._in_duckdb, tokens))
        text = self.text[tokens[0].start : tokens[-1].end]
        for token in reversed(tokens):  # `:name` is written `$name`
            if token.kind is Kind.PARAMETER and token.text.startswith(":"):
                at = token.start - tokens[0].start
                text = f"{text[:at]}${text[at + 1 :]}"
        return text

    def _in_duckdb(self, token: Token) -> str:
        match token.kind:
            case Kind.STRING:
                return literal(token.value)
            case Kind.QUOTED:
                return quote_name(token.value)
            case Kind.PARAMETER:
                return self.parameter_text(token)
        return token.text

    def peek(self, ahead: int = 0) -> Token:
        """Returns the token that many places ahead; beyond the last one, the last one."""
        at = self.index + ahead
        return self.tokens[at] if at < len(self.tokens) else self.tokens[-1]

    def next(self) -> Token:
        """Returns the token here and goes past it."""
        token = self.peek()
        self.index += 1
        return token

    def at(self, *words: str) -> bool:
        """Whether these keywords or signs (upper case) stand here, one after the other."""
        if self.peek().upper != words[0]:
            return False  # as nearly always
        return all(self.peek(i).upper == word for i, word in enumerate(words))

    def accept(self, *words: str) -> bool:
        """Goes past these keywords or signs if they stand here, and says whether they did."""
        matches = self.at(*words)
        self.index += len(words) if matches else 0
        return matches

    def expect(self, *words: str) -> None:
        """Goes past these keywords or signs."""
        for word in words:
            if not self.accept(word):
                raise self.refuse_unexpected(word)

    def at_name(self) -> bool:
        """Whether a name stands here: quoted, or a word that is not reserved."""
        token = self.peek()
        return token.kind is Kind.QUOTED or (
            token.kind is Kind.WORD and token.upper not in RESERVED
        )

    def name(self, what: str) -> str:
        """Returns the name that stands here, unquoted; `what` says of what."""
        if not self.at_name():
            raise self.refuse_unexpected(what)
        token = self.next()
        if not token.value:
            raise Refused.at(token, "a name is empty")
        return token.value

    def table(self) -> str:
        """Returns the name of a table; only the schema `main` may be written before it."""
        first = self.peek()
        name = self.name("the name of a table")
        if not self.at("."):
            return name
        self.next()
        if name.lower() != "main":
            hint = "name the table alone"
            raise Refused.at(first, f"{name} is a schema or database of its own", hint)
        return self.name("the name of a table")

    def read_list(self, read: Callable[[], T]) -> tuple[T, ...]:
        """Returns what `read` reads once and again behind each comma."""
        values = [read()]
        while self.accept(","):
            values.append(read())
        return tuple(values)

    def in_parentheses(self, read: Callable[[], T]) -> tuple[T, ...]:
        """Returns the elements of `(element, …)`."""
        self.expect("(")
        values = self.read_list(read)
        self.expect(")")
        return values

    def column_in_parentheses(self) -> str:
        """Returns the column of `(column)`."""
        self.expect("(")
        name = self.name("the name of a column")
        if self.at(","):
            raise self.refuse("only one column can stand here", "write (column)")
        self.expect(")")
        return name

    def columns_in_parentheses(self) -> tuple[str, ...]:
        """Returns the columns of `(column, …)`, of which none is written twice."""
        names: set[str] = set()

        def new_column() -> str:
            place, name = self.peek(), self.name("the name of a column")
            if name.lower() in names:
                raise Refused.at(place, f"{name} is in the list already", "write it once")
            names.add(name.lower())
            return name

        return self.in_parentheses(new_column)

    def end(self) -> None:
        """Checks that the statement ends here."""
        if self.peek().kind is not Kind.END:
            raise self.refuse_unexpected("the end of the statement")

    def since(self, first: Token) -> str:
        """Returns the text from `first` to the token before this place."""
        return self.text[first.start : self.tokens[self.index - 1].end]

    def refuse(self, message: str, hint: str | None = None) -> Refused:
        """Returns the refusal that points here."""
        return Refused.at(self.peek(), message, hint)

    def refuse_unexpected(self, expected: str) -> Refused:
        """Returns the refusal of the token here: by the name of its construct where it has one."""
        token = self.peek()
        if token.upper in CONSTRUCTS:
            return self.refuse(*CONSTRUCTS[token.upper])
        if self.at("STRATIFY", "BY"):
            hint = "it comes once, after FROM, WHERE and GROUP BY"
            return self.refuse(f"expected {expected}, found STRATIFY BY", hint)
        return self.refuse(f"expected {expected}, found {token.shown}")

    # --- constants ---

    def constant(self) -> Value:
        """Returns the constant that stands here: a signed number, a string, NULL, TRUE, FALSE, a
        DATE or TIMESTAMP literal, or a parameter.

        Raises:
            Refused: Something else stands here.
        """
        token = self.peek()
        if self.at("-") or self.at("+"):
            sign = -1 if self.next().text == "-" else 1
            return sign * self._number()
        if token.kind is Kind.NUMBER:
            return self._number()
        if token.upper in _MOMENTS and self.peek(1).kind is Kind.STRING:
            text = self.peek(1)
            self.index += 2
            return date_or_time(text.value, _MOMENTS[token.upper], text)
        if token.kind is Kind.STRING or token.upper in _WORDS:
            self.next()
            return token.value if token.kind is Kind.STRING else _WORDS[token.upper]
        if token.kind is Kind.PARAMETER:
            return self.binding.value(self.next())
        kinds = "a number, 'text', DATE '2020-12-31', TRUE, FALSE or NULL"
        raise self.refuse_unexpected(f"a constant: {kinds}")

    def _number(self) -> int | float:
        if self.peek().kind is not Kind.NUMBER:
            raise self.refuse_unexpected("a number")
        token = self.next()
        unread = number_refusal(token, self.peek())
        if unread is not None:
            raise unread
        return number(token.text, token)

    def options(self) -> Options:
        """Returns `(name = constant, …)`, names in lower case; a bare word is a constant, too.

        Raises:
            Refused: Another shape, or a name written twice.
        """
        names: set[str] = set()

        def option() -> tuple[str, Value]:
            token, name = self.peek(), self.name("the name of an option").lower()
            if name in names:
                raise Refused.at(token, f"the option {name} is written twice")
            names.add(name)
            self.expect("=")
            return name, self.value()

        return self.in_parentheses(option)

    def value(self) -> Value:
        """Returns the constant or the bare word, in lower case, that stands here."""
        if self.peek().kind is Kind.QUOTED:
            return self.next().value.lower()
        bare = self.peek().kind is Kind.WORD and self.at_name()
        if bare and self.peek(1).kind is not Kind.STRING:
            return self.next().value.lower()
        return self.constant()


def number_refusal(token: Token, following: Token) -> Refused | None:
    """Returns the refusal of a number that runs into a name, as 0x1F does; None of any other."""
    if following.start != token.end or following.kind not in (Kind.WORD, Kind.NUMBER, Kind.QUOTED):
        return None
    message = f"the number {token.text[:40]} runs into {following.shown}"
    return Refused.at(token, message, "put a space between them; hexadecimal numbers are not read")
