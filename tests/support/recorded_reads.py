"""Sessions over two vaults that are told the same exact integers, and draw the same noise."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sqlpriv.kernel import gate
from sqlpriv.kernel.proof import noise
from sqlpriv.kernel.reader import Reader
from sqlpriv.kernel.sql.queries import Rendered
from sqlpriv.kernel.terms import algebra as a


class RecordedReads:
    """What was read of the first vault, by the queries' names: the second is told the same.

    Attributes:
        replaying: Whether reads are answered by what was recorded.
    """

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.replaying = False
        self._cells: dict[str, list[int]] = {}
        self._groups: dict[str, Any] = {}
        self._asked = ""
        read_cells, read_groups, render_groups = Reader.cells, Reader.groups, gate.render_groups

        def cells(reader: Reader, asked: Rendered) -> dict[a.Query, list[int]]:
            if not self.replaying:
                read = read_cells(reader, asked)
                self._cells |= {a.query_hash(query): answer for query, answer in read.items()}
            return {query: self._cells[a.query_hash(query)] for query in asked.values}

        def groups(reader: Reader, sql: str, engine: str) -> Any:
            if not self.replaying:
                self._groups[self._asked] = read_groups(reader, sql, engine)
            return self._groups[self._asked]

        def render(source: a.Relation, exprs: Sequence[a.Expr], *rest: Any) -> str:
            self._asked = a.query_hash((source, exprs))
            return render_groups(source, exprs, *rest)

        patched.setattr(Reader, "cells", cells)
        patched.setattr(Reader, "groups", groups)
        patched.setattr(gate, "render_groups", render)
        patched.setattr(noise.Noise, "draw", _draw)
        patched.setattr(noise, "chooser", _chooser)
        patched.setattr(noise, "threshold", lambda *_: lambda exact: [*range(len(exact))])


def _draw(of: noise.Noise, n: int) -> list[int]:
    """Noise of the right size, the same for all draws of one number and scale."""
    drawn = random.Random(n)
    return [round(drawn.gauss(0, min(of.sigma, 2.0**50))) for _ in range(n)]


def _chooser(*_: object) -> Callable[[Any], int]:
    return lambda scores: max(range(len(scores)), key=lambda i: int(scores[i]))
