"""Everything that is measured of one synthetic table, and its rows as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import duckdb
import pyarrow as pa

from sqlpriv.errors import DataError
from sqlpriv.evaluate.classifier import Classified, classify
from sqlpriv.evaluate.levels import NUMERIC, discretised
from sqlpriv.evaluate.parity import Means, max_disparity, means, parity_error
from sqlpriv.evaluate.workload_error import Stratum, WorkloadError, error_of_cells, joint_cells
from sqlpriv.kernel.sql.quoting import name
from sqlpriv.kernel.terms.contract import Column

WAYS = (1, 2, 3)
SCHEMA = pa.schema(
    [("measure", pa.string()), ("about", pa.string()), ("stratum", pa.string()),
     ("value", pa.float64()), ("note", pa.string())]
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """What to classify: a column, its positive value, and real rows that no synthesizer saw.

    `held_out` is None where there are none: then half of the real rows are tested on.
    """

    column: str
    positive: object
    held_out: duckdb.DuckDBPyRelation | None = None


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What was measured.

    Attributes:
        strata: The columns that make them.
        workloads: By ways, of the marginals.
        means: Of the numeric columns, by stratum.
        target: What was classified, or None.
        trained_on_synthetic: Its scores, trained on synthetic rows.
        trained_on_real: The same model's scores, trained on real rows: what could be had.
    """

    strata: tuple[str, ...]
    workloads: tuple[WorkloadError, ...]
    means: Means
    target: Target | None = None
    trained_on_synthetic: Classified | None = None
    trained_on_real: Classified | None = None

    @property
    def inside(self) -> WorkloadError | None:
        """The workload of the widest marginals that are counted inside the strata."""
        counted = [e for e in self.workloads if e.strata]
        return counted[-1] if counted else None


def evaluate(
    real: duckdb.DuckDBPyRelation,
    synthetic: duckdb.DuckDBPyRelation,
    columns: Sequence[Column],
    strata: Sequence[str],
    target: Target | None = None,
    told: Callable[[str, int, int], None] = lambda _stage, _done, _of: None,
) -> Evaluation:
    """Measures a synthetic table against the private one. For an owner's eyes alone.

    Args:
        real: The private rows.
        synthetic: The synthetic ones, of the same DuckDB connection.
        columns: Those that both tables have, with their declared domains, strata among them.
        strata: Names of the columns that make the strata, at least one.
        target: What to classify, if anything.
        told: Is told of every step: what is done next, steps done, steps in all.

    Raises:
        DataError: There is nothing to compare, or the target cannot be classified.
    """
    others = tuple(c for c in columns if c.name not in strata)
    if not others:
        raise DataError("the tables have no column in common beside those of the strata")
    names = ", ".join(name(c.name) for c in columns)
    real, synthetic = real.project(names), synthetic.project(names)
    numeric = [c.name for c in others if c.type in NUMERIC]
    levels = discretised(real, columns), discretised(synthetic, columns)
    cells = joint_cells(*levels, [c.name for c in columns])
    known = [c.name for c in others]
    counted = [ways for ways in WAYS if ways <= len(columns)]
    steps = len(counted) + 1 + 2 * (target is not None)
    workloads = []
    for at, ways in enumerate(counted):
        told(f"{ways}-way marginals", at, steps)
        workloads.append(error_of_cells(cells, known, strata, ways))
    told("means by stratum", len(counted), steps)
    compared = means(real, synthetic, numeric, strata)
    made = Evaluation(tuple(strata), tuple(workloads), compared, target)
    if target is None:
        return made
    learn, test = _held_out(real, target, names)
    scores: list[Classified] = []
    for said, table in (("synthetic", synthetic), ("real", learn)):
        told(f"a classifier trained on {said} rows", len(counted) + 1 + len(scores), steps)
        scores.append(classify(table, test, target.column, target.positive, strata))
    return replace(made, trained_on_synthetic=scores[0], trained_on_real=scores[1])


def _held_out(
    real: duckdb.DuckDBPyRelation, target: Target, names: str
) -> tuple[duckdb.DuckDBPyRelation, duckdb.DuckDBPyRelation]:
    """Returns real rows to learn from, and others to test on."""
    if target.held_out is not None:
        return real, target.held_out.project(names)
    halves = real.project("*, row_number() OVER () % 2 AS sqlpriv_half").materialize()
    learn, test = (halves.filter(f"sqlpriv_half = {half}").project(names) for half in (0, 1))
    return learn, test


def rows(made: Evaluation) -> pa.Table:
    """Returns an evaluation as a table: one row per measure, of the population and per stratum."""
    found: list[tuple[str, str, str | None, float | None, str]] = []
    for e in made.workloads:
        said = f"{e.ways}-way marginals"
        found.append(("workload error", said, None, e.population, f"mean of {e.marginals}"))
        found += [
            ("workload error", said, label(made.strata, s), v,
             "" if v is not None else "no real row: nothing to compare with")
            for s, v in e.strata.items()
        ]  # fmt: skip
        if e.strata:
            found.append(("parity error of the marginals", said, None, _parity(e), ""))
    found += _mean_rows(made)
    for trained, scores in (
        ("synthetic", made.trained_on_synthetic),
        ("real", made.trained_on_real),
    ):
        if scores is not None and made.target is not None:
            found += _classifier_rows(made, made.target, trained, scores)
    cells = [[None if isinstance(v, float) and math.isnan(v) else v for v in row] for row in found]
    return pa.table(list(map(list, zip(*cells, strict=True))), schema=SCHEMA)


def _parity(e: WorkloadError) -> float:
    """Definition 10 with the workload error as its statistic, as in the paper's Figure 9."""
    known = [v for v in e.strata.values() if v is not None]
    return sum(known) + e.population / len(known) if known else math.nan


def label(strata: Sequence[str], values: Stratum) -> str:
    """Returns a stratum as people write it: `SEX = 1, RAC1P = 2`."""
    return ", ".join(f"{c} = {v}" for c, v in zip(strata, values, strict=True))


def _mean_rows(made: Evaluation) -> list[tuple[str, str, str | None, float | None, str]]:
    m = made.means
    found: list[tuple[str, str, str | None, float | None, str]] = []
    for j, column in enumerate(m.columns):
        parity = parity_error(m.real[:, j], m.synthetic[:, j])
        left_out = f"{len(parity.undefined)} of {len(m.strata) + 1} without a truth to divide by"
        note = left_out if parity.undefined else ""
        found.append(("parity error of the means", column, None, parity.error, note))
        spread = max_disparity(m.real[:, j], m.synthetic[:, j])
        found.append(("max disparity of the means", column, None, spread, ""))
    for at, stratum in enumerate((*m.strata, None)):
        said = None if stratum is None else label(made.strata, stratum)
        share = m.rows[at, 1] / m.rows[-1, 1] if m.rows[-1, 1] else math.nan
        found.append(("share of the rows, synthetic", "", said, float(share), ""))
        found.append(
            ("share of the rows, real", "", said, float(m.rows[at, 0] / m.rows[-1, 0]), "")
        )
        for j, column in enumerate(m.columns):
            found.append(("mean, real", column, said, float(m.real[at, j]), ""))
            found.append(("mean, synthetic", column, said, float(m.synthetic[at, j]), ""))
    return found


def _classifier_rows(
    made: Evaluation, target: Target, trained: str, scores: Classified
) -> list[tuple[str, str, str | None, float | None, str]]:
    about = f"{target.column} = {target.positive}, trained on {trained} rows"
    seen = "" if target.held_out is not None else "tested on rows that the synthesizer was given"
    whole = (
        ("accuracy", scores.accuracy), ("macro F1", scores.macro_f1),
        ("demographic parity", scores.demographic_parity),
        ("max FPR difference", scores.fpr_difference),
        ("max FNR difference", scores.fnr_difference),
    )  # fmt: skip
    found: list[tuple[str, str, str | None, float | None, str]] = [
        (measure, about, None, value, seen) for measure, value in whole
    ]
    for stratum, r in scores.strata.items():
        said = label(made.strata, stratum)
        for measure, value in (
            ("selected", r.selected), ("FPR", r.false_positive), ("FNR", r.false_negative)
        ):  # fmt: skip
            found.append((measure, about, said, value, seen))
    return found
