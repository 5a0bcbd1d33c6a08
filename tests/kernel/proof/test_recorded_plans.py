"""No unit moves what statements of the suites ask further than is claimed, whatever it holds.

Statements are planned and run by a session; what they ask of the gate, later rounds included, is
recorded. The same queries are then read, without noise, of the vault and of one with a unit more,
whose rows are many and hold what types can hold at worst.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from suites.run import classes, in_its_dialect, statements
from suites.vault import make_vault

from sqlpriv.errors import Error
from sqlpriv.kernel import checked
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.proof import sensitivity
from sqlpriv.kernel.proof.clipped_sums import clipped_sums
from sqlpriv.kernel.reader import Reader
from sqlpriv.kernel.sql.queries import joint_batches, render
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel
from sqlpriv.session.session import Session

KEY = 0x5EED
UNIT = 4242
"""Is in no table of the suites' vault."""
NASTY = {
    "people": f"""SELECT {UNIT}, 'X', NULL, 'nord', 2147483647, -2147483648, NULL,
        'NaN'::DOUBLE, NULL""",
    "visits": f"""SELECT 900000 + i, {UNIT}, [NULL, 0, 4, 2147483647, -2147483648][1 + i % 5]
        FROM range(40) AS t(i)""",
    "stays": f"""SELECT 900000 + i, {UNIT}, [NULL, 0, 3, -1][1 + i % 4],
        [DATE 'infinity', DATE '-infinity', NULL, DATE '2023-01-01', DATE '2023-03-31'][1 + i % 5],
        ['infinity'::TIMESTAMP, NULL, '2023-01-01', '2023-04-05', '290000-01-01'][1 + i % 5]
        FROM range(40) AS t(i)""",
    "events": f"""SELECT 900000 + i, {UNIT}, (['seen', 'basket', 'paid', NULL])[1 + i % 4]::step,
        [NULL, 9999999.99, -9999999.99, 0][1 + i % 4]::DECIMAL(9, 2),
        ['NaN'::DOUBLE, 'inf', '-inf', 9007199254740993, -0.0, 1e308, NULL, 9][1 + i % 8],
        ['web', NULL, '', 'Ω', 'app'][1 + i % 5],
        ['infinity'::TIMESTAMP, NULL, '2024-02-27', '2024-03-08', '-infinity'][1 + i % 5],
        [170141183460469231731687303715884105727, 3, -3, NULL][1 + i % 4]::HUGEINT,
        NULL, [true, false, NULL][1 + i % 3] FROM range(40) AS t(i)""",
    "odd": f"""SELECT 900000 + i, {UNIT}, [NULL, 2147483647, -20, 20][1 + i % 4],
        [NULL, 99999999.999, -99999999.999, 63][1 + i % 4], [NULL, 999.99, -1, 1][1 + i % 4],
        ['NaN'::FLOAT, 'inf', '-inf', -0.0, 23][1 + i % 5], [NULL, 255, 0][1 + i % 3],
        [NULL, 65535, 999][1 + i % 3], [9223372036854775807, -9223372036854775807,
        9007199254740993, NULL, 500003][1 + i % 5],
        [DATE 'infinity', DATE '-infinity', NULL, DATE '1971-01-18'][1 + i % 4],
        ['infinity'::TIMESTAMP, NULL, '1970-01-05', '-infinity'][1 + i % 4],
        ['infinity'::TIMESTAMPTZ, NULL, '2024-10-27 02:30:00+01'][1 + i % 3],
        (['zorn', NULL, 'angst'])[1 + i % 3]::mood, ['a', NULL, 'A', 'ss'][1 + i % 4],
        [true, NULL, false][1 + i % 3] FROM range(40) AS t(i)""",
}
"""Rows of the unit; by table."""
Recorded = list[tuple[str, list[Measurement], list[a.Parts]]]


@contextmanager
def recording() -> Iterator[Recorded]:
    """Yields what is bought meanwhile: the table, the measurements, and what is read for them."""
    bought, buy = Recorded(), Allowance._buy

    def note(self: Allowance, measurements: list[Measurement], asked: list[a.Parts]) -> Any:
        bought.append((self.contract.table.lower(), measurements, asked))
        return buy(self, measurements, asked)

    Allowance._buy = note  # type: ignore[method-assign]  # tests alone may
    try:
        yield bought
    finally:
        Allowance._buy = buy  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def vaults(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The suites' vault, and the same with a unit more; declarations are alike."""
    small = make_vault(tmp_path_factory.mktemp("small") / "v.duckdb")
    large = tmp_path_factory.mktemp("large") / "v.duckdb"
    for name in ("v.duckdb", "v.ledger", "v.ledger.mark"):
        shutil.copy(small.with_name(name), large.with_name(name))
    with Session(large, role="owner") as owner:
        for table, rows in NASTY.items():
            owner.execute(f"INSERT INTO {table} {rows}")
    return small, large


def exact(
    vault: Path, contract: TableContract, asked: Sequence[a.Parts]
) -> dict[a.Parts, list[list[int]]]:
    """Returns the exact integers of what is asked together, as the gate reads them."""
    answers: dict[a.Parts, list[list[int]]] = {}
    with Reader(vault) as reader:
        for batch in joint_batches(list(dict.fromkeys(asked)), [], contract):
            cells = reader.cells(render([*dict.fromkeys(chain(*batch))], contract, KEY))
            answers |= {parts: [cells[part] for part in parts] for parts in batch}
    return answers


def noised_integers(query: a.Asked, scope: Scope, cells: list[list[int]]) -> np.ndarray[Any, Any]:
    """Returns the integers to which noise is added, or the scores of which a level is chosen."""
    if isinstance(query, a.Level):
        return sensitivity.level_scores(query, cells[0]).astype(object)
    if isinstance(query, a.Clipped):
        type_ = [checked.check_expressions(part, scope) for part in checked.parts_of(query)][-1]
        return np.array(clipped_sums(checked._clips(query, type_, scope), *cells), object)
    return np.array(cells[0], object)


def check_moves(query: a.Asked, scope: Scope, small: Any, large: Any) -> float:
    """Asserts that two answers are as far apart as is claimed at most; returns how far of that."""
    apart = abs(noised_integers(query, scope, large) - noised_integers(query, scope, small))
    g = min(scope.unit.groups_per_unit, a.strata_count(query))
    if isinstance(query, a.Level):
        far = sensitivity.level_distance(query, scope.unit.rows_per_unit)
        moved = apart.reshape(-1, apart.shape[-1]).max(axis=1).sum()
        assert moved <= far * g, query
        return float(moved / (far * g))
    type_ = [checked.check_expressions(part, scope) for part in checked.parts_of(query)][-1]
    steps = sensitivity.lattice_of(query, type_).steps
    if isinstance(query, a.Clipped):
        steps = sensitivity.REAL_STEPS
    claimed = sensitivity.sensitivity(query, scope.unit, steps)
    assert apart.sum() <= claimed.l1, query
    assert (apart * apart).sum() <= claimed.l2_squared, query
    return float(apart.sum() / claimed.l1) if claimed.l1 else 0.0


def moves_of(vaults: tuple[Path, Path], text: str) -> list[float]:
    """Returns how far the unit moves each answer to a statement, of what is claimed."""
    dialect, query = in_its_dialect(text)
    with recording() as bought, Session(vaults[0], dialect=dialect) as session:
        session.execute("SET privacy_epsilon = 8")
        try:
            session.execute(query)
        except Error:
            return []  # what suites refuse is no matter of this test
    kernels = [Kernel(vault) for vault in vaults]
    contracts = [kernel.contracts() for kernel in kernels]
    moves = []
    for table, measurements, asked in bought:
        small, large = (
            exact(vault, of[table], asked) for vault, of in zip(vaults, contracts, strict=True)
        )
        for m in measurements:
            parts = checked.parts_of(m.query)
            scope = Scope(m.query.source, contracts[1][table])
            moves.append(check_moves(m.query, scope, small[parts], large[parts]))
    for kernel in kernels:
        kernel.close()
    return moves


def sample(every: int) -> list[str]:
    """Returns every so manieth statement of all classes."""
    return [text for name in classes() for text in statements(name)][::every]


def test_no_unit_moves_what_suites_ask_further_than_claimed(vaults: tuple[Path, Path]) -> None:
    """Of some 60 statements the unit moves at least 15, and one by all that is claimed."""
    moves = [moves_of(vaults, text) for text in sample(25)]
    assert sum(any(of) for of in moves) >= 15
    assert max(chain(*moves)) == 1.0


@pytest.mark.slow
def test_nor_anything_else_that_suites_ask(vaults: tuple[Path, Path]) -> None:
    assert sum(any(moves_of(vaults, text)) for text in sample(1)) > 500
