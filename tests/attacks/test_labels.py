"""Who has which key: each test prints what the attacker learned, and it is nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.templates import vault_of
from support.vaults import allowed

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import YOCTO, Budget, Rho
from sqlpriv.kernel.vault import Kernel
from sqlpriv.session.session import Session

MakeKernel = Callable[..., Kernel]
BUDGET = Budget("people", Rho(10**18), 1e-9, YOCTO // 10**6)
SCAN, WARD, RHO = a.Scan("people"), a.Col("ward"), Rho(10**7)


def heard(kernel: Kernel, times: int) -> list[tuple[object, ...]]:
    """Selections of the same values, each time in a question that was not asked before."""
    found = []
    with allowed(kernel) as allowance:
        for i in range(times):
            other = a.Call("<>", (WARD, a.Lit(f"never {i}", a.Type.TEXT)))
            rows = a.Where(SCAN, a.Call("or", (other, a.Call("is null", (WARD,)))))
            found.append(allowance.select_keys(rows, (WARD,), RHO, YOCTO // 10**10))
    return found


def test_one_unit_with_a_thousand_labels_of_its_own(make_kernel: MakeKernel) -> None:
    """A unit that floods the table gets none of its labels out, and none of the others' away."""
    rows = """CREATE TABLE people AS SELECT i AS id, 'ward ' || (i % 3) AS ward FROM range(900) r(i)
        UNION ALL SELECT 7777, 'secret ' || i FROM range(1000) r(i)"""
    kernel = make_kernel(rows, m=3, budget=BUDGET)
    found = heard(kernel, 10)
    print("learned:", sorted({label for labels in found for (label,) in labels}))
    assert all(labels == (("ward 0",), ("ward 1",), ("ward 2",)) for labels in found)


def test_a_few_friends_who_share_a_label(make_kernel: MakeKernel) -> None:
    """20 units have it, the threshold is near 60: P(seen) < exp(-16) a question."""
    rows = """CREATE TABLE people AS SELECT i AS id,
        CASE WHEN i < 20 THEN 'plot' ELSE 'ward ' || (i % 3) END AS ward FROM range(900) r(i)"""
    found = heard(make_kernel(rows, budget=BUDGET), 10)
    print("learned:", sorted({label for labels in found for (label,) in labels}))
    assert not any(("plot",) in labels for labels in found)


def test_who_has_no_label_is_hidden_as_who_has_a_label_of_his_own(make_kernel: MakeKernel) -> None:
    """NULL is a value like another: it is selected where very many have it, and never of one."""
    rows = """CREATE TABLE people AS SELECT i AS id,
        CASE WHEN i >= {} THEN 'ward' END AS ward FROM range(1000) r(i)"""
    found = heard(make_kernel(rows.format(500), budget=BUDGET), 3)
    assert set(found) == {(("ward",), (None,))}
    found = heard(make_kernel(rows.format(1), vault="one.duckdb", budget=BUDGET), 10)
    print("learned:", found[0])
    assert set(found) == {(("ward",),)}


DIAGNOSES = """CREATE TYPE dx AS ENUM ('flu', 'cold', 'what only bob has');
CREATE TABLE people (id INTEGER PRIMARY KEY, has dx);
INSERT INTO people VALUES (1, 'flu'), (2, 'what only bob has');
CREATE TABLE codes (code dx, all_codes dx[], named STRUCT(a dx), pairs MAP(dx, dx));
INSERT INTO codes VALUES ('cold', ['flu'], {'a': 'flu'}, MAP {'flu': NULL}),
    ('flu', [], NULL, NULL), (NULL, NULL, NULL, NULL);
CREATE TABLE no_codes AS SELECT NULL::dx AS code;
ALTER TABLE people SET PRIVACY (KEY (id), BUDGET (epsilon = 1, delta = 1e-9));
ALTER TABLE codes SET PUBLIC; ALTER TABLE no_codes SET PUBLIC"""


def test_a_type_that_private_rows_share_with_public_ones(tmp_path: Path) -> None:
    """An ENUM has the labels of all rows that it was made of; a public table shows those it has."""
    vault = vault_of(DIAGNOSES, tmp_path / "people.duckdb")
    with Session(vault) as session:
        learned = ""
        for column in ("code", "all_codes", "named", "pairs"):
            rows = session.execute(f"SELECT {column}, typeof({column}) FROM codes").table
            assert rows is not None
            learned += (
                f"{rows.to_pylist()} {[str(chunk) for c in rows.columns for chunk in c.chunks]}"
            )
        listed = session.execute("SELECT enum_range(code) AS r FROM codes LIMIT 1").table
        ordered = session.execute("SELECT code FROM codes ORDER BY code NULLS LAST").table
        assert listed is not None
        assert ordered is not None
        assert listed.to_pylist() == [{"r": ["flu", "cold"]}]
        assert ordered.column(0).to_pylist() == ["flu", "cold", None]  # in the order of the type
        learned += str(session.execute("SELECT code, typeof(code) FROM no_codes").table)
    kernel = Kernel(vault)
    rows = kernel.public("codes")  # Arrow may have dictionaries in columns, and in their parts
    kernel.close()
    print("learned:", learned)
    assert "bob" not in learned
    assert "dictionary" not in str(rows.schema)
