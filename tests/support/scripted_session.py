"""A session that answers from a script: what the interfaces do with an answer is under test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.session.session import Catalog, Progress, Quote, Result

NOISED = Result(
    table=pa.table({"sex": [1, 2, None], "n": [102.4, 98.61, 201.0]}),
    message="",
    half_widths={"n": [3.21, 3.21, 4.5]},
    price=Rho(500),
    epsilon=0.5,
    exact=False,
)


def exact(**columns: list[Any]) -> Result:
    """Returns a result with these columns and no noise."""
    return Result(
        table=pa.table(columns), message="", half_widths={}, price=None, epsilon=None, exact=True
    )


def done(message: str) -> Result:
    """Returns the result of a statement without rows."""
    return Result(table=None, message=message, half_widths={}, price=None, epsilon=None, exact=True)


@dataclass
class ScriptedSession:
    """Answers each statement by the script; anything else with `NOISED`."""

    script: dict[str, Result | BaseException] = field(default_factory=dict)
    vault: Path = Path("people.duckdb")
    role: str = "analyst"
    principal: str = "ada"
    dialect: str = "duckdb"
    asked: list[str] = field(default_factory=list)
    left: float = 2.419
    price: Quote = field(default_factory=Quote)
    closed: bool = False

    def statements(self, sql: str) -> tuple[str, ...]:
        return tuple(part.strip() for part in sql.split(";") if part.strip())

    def execute(
        self,
        sql: str,
        parameters: object = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Result:
        del parameters, progress
        self.asked.append(sql)
        answer = self.script.get(sql, NOISED)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def quote(self, sql: str, parameters: object = None) -> Quote:
        del sql, parameters
        return self.price

    def budgets(self) -> tuple[tuple[str, float, float], ...]:
        return (("people", self.left, 3.0),)

    def comments(self) -> dict[str, str]:
        return {"people_synth": "Synthetic rows, differentially private. Method: mst."}

    def catalog(self) -> Catalog:
        return Catalog(
            tables={"people": ("sex", "Income", "stratify")}, released={"people_synth": ("age",)}
        )

    def close(self) -> None:
        self.closed = True
