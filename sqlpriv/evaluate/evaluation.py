"""Everything that is measured of one synthetic table, and its rows as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import duckdb
import pyarrow as pa

from sqlpriv.errors import DataError
from sqlpriv.evaluate.classifier import ClassifierScores, classify
from sqlpriv.evaluate.closest_record import ClosestRecords, closest_records
from sqlpriv.evaluate.levels import NUMERIC, discretise
from sqlpriv.evaluate.parity import Means, max_disparity, means, parity_error
from sqlpriv.evaluate.workload_error import Stratum, WorkloadError, error_of_cells, joint_cells
from sqlpriv.kernel.sql.quoting import name
from sqlpriv.kernel.terms.contract import Column

WAYS = (1, 2, 3)
SCHEMA = pa.schema(
    [
        ("measure", pa.string()),
        ("about", pa.string()),
        ("stratum", pa.string()),
        ("value", pa.float64()),
        ("note", pa.string()),
    ]
)


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
        closest: How near the synthetic rows come to the real ones; None for too few rows.
    """

    strata: tuple[str, ...]
    workloads: tuple[WorkloadError, ...]
    means: Means
    target: Target | None = None
    trained_on_synthetic: ClassifierScores | None = None
    trained_on_real: ClassifierScores | None = None
    closest: ClosestRecords | None = None

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
    report_step: Callable[[str, int, int], None] = lambda _stage, _done, _of: None,
) -> Evaluation:
    """Measures a synthetic table against the private one. For an owner's eyes alone.

    Args:
        real: The private rows.
        synthetic: The synthetic ones, of the same DuckDB connection.
        columns: Those that both tables have, with their declared domains, strata among them.
        strata: Names of the columns that make the strata, at least one.
        target: What to classify, if anything.
        report_step: Called before each step with its name, the steps done, and the steps in all.

    Raises:
        DataError: There is nothing to compare, or the target cannot be classified.
    """
    others = tuple(c for c in columns if c.name not in strata)
    if not others:
        raise DataError("the tables have no column in common beside those of the strata")
    names = ", ".join(name(c.name) for c in columns)
    real, synthetic = real.project(names), synthetic.project(names)
    numeric = [c.name for c in others if c.type in NUMERIC]
    levels = discretise(real, columns), discretise(synthetic, columns)
    cells = joint_cells(*levels, [c.name for c in columns])
    other_names = [c.name for c in others]
    counted = [ways for ways in WAYS if ways <= len(columns)]
    steps = len(counted) + 1 + 2 * (target is not None)
    workloads = []
    for at, ways in enumerate(counted):
        report_step(f"{ways}-way marginals", at, steps)
        workloads.append(error_of_cells(cells, other_names, strata, ways))
    report_step("means by stratum", len(counted), steps)
    compared = means(real, synthetic, numeric, strata)
    apart = target.held_out if target is not None else None
    held_out = None if apart is None else discretise(apart.project(names), columns)
    closest = closest_records(*levels, [c.name for c in columns], held_out)
    evaluation = Evaluation(tuple(strata), tuple(workloads), compared, target, closest=closest)
    if target is None:
        return evaluation
    learn, test = _held_out(real, target, names)
    scores: list[ClassifierScores] = []
    for source, table in (("synthetic", synthetic), ("real", learn)):
        report_step(f"a classifier trained on {source} rows", len(counted) + 1 + len(scores), steps)
        scores.append(classify(table, test, target.column, target.positive, strata))
    return replace(evaluation, trained_on_synthetic=scores[0], trained_on_real=scores[1])


def _held_out(
    real: duckdb.DuckDBPyRelation, target: Target, names: str
) -> tuple[duckdb.DuckDBPyRelation, duckdb.DuckDBPyRelation]:
    """Returns real rows to learn from, and others to test on."""
    if target.held_out is not None:
        return real, target.held_out.project(names)
    halves = real.project("*, row_number() OVER () % 2 AS sqlpriv_half").materialize()
    learn, test = (halves.filter(f"sqlpriv_half = {half}").project(names) for half in (0, 1))
    return learn, test


def rows(evaluation: Evaluation) -> pa.Table:
    """Returns an evaluation as a table: one row per measure, of the population and per stratum."""
    measures: list[tuple[str, str, str | None, float | None, str]] = []
    for e in evaluation.workloads:
        title = f"{e.ways}-way marginals"
        measures.append(("workload error", title, None, e.population, f"mean of {e.marginals}"))
        measures += [
            (
                "workload error",
                title,
                label(evaluation.strata, s),
                v,
                "" if v is not None else "no real row: nothing to compare with",
            )
            for s, v in e.strata.items()
        ]
        if e.strata:
            measures.append(("parity error of the marginals", title, None, _parity(e), ""))
    measures += _mean_rows(evaluation)
    if evaluation.closest is not None:
        measures += _closest_rows(evaluation.closest)
    for trained, scores in (
        ("synthetic", evaluation.trained_on_synthetic),
        ("real", evaluation.trained_on_real),
    ):
        if scores is not None and evaluation.target is not None:
            measures += _classifier_rows(evaluation, evaluation.target, trained, scores)
    cells = [
        [None if isinstance(v, float) and math.isnan(v) else v for v in row] for row in measures
    ]
    return pa.table(list(map(list, zip(*cells, strict=True))), schema=SCHEMA)


def _parity(e: WorkloadError) -> float:
    """Definition 10 with the workload error as its statistic, as in the paper's Figure 9."""
    errors = [v for v in e.strata.values() if v is not None]
    return sum(errors) + e.population / len(errors) if errors else math.nan


def label(strata: Sequence[str], values: Stratum) -> str:
    """Returns a stratum as people write it.

    >>> label(("SEX", "RAC1P"), ("1", "2"))
    'SEX = 1, RAC1P = 2'
    """
    return ", ".join(f"{c} = {v}" for c, v in zip(strata, values, strict=True))


def _closest_rows(c: ClosestRecords) -> list[tuple[str, str, str | None, float | None, str]]:
    named, of = "distance to the closest record", f"columns that differ, of {c.columns}"
    measures: list[tuple[str, str, str | None, float | None, str]] = [
        (named, "synthetic rows", None, c.of_synthetic, of),
        (named, "real rows, to others", None, c.of_real, of),
        ("copies of a record", "synthetic rows", None, c.copies, "share of the rows"),
        ("copies of a record", "real rows, of others", None, c.real_copies, "share of the rows"),
    ]
    if c.membership is not None:
        note = "0.5 is a guess; by distances to the synthetic rows"
        measures.append(("membership inference, AUC", "", None, c.membership, note))
    return measures


def _mean_rows(evaluation: Evaluation) -> list[tuple[str, str, str | None, float | None, str]]:
    m = evaluation.means
    measures: list[tuple[str, str, str | None, float | None, str]] = []
    for j, column in enumerate(m.columns):
        parity = parity_error(m.real[:, j], m.synthetic[:, j])
        left_out = f"{len(parity.undefined)} of {len(m.strata) + 1} without a truth to divide by"
        note = left_out if parity.undefined else ""
        measures.append(("parity error of the means", column, None, parity.error, note))
        spread = max_disparity(m.real[:, j], m.synthetic[:, j])
        measures.append(("max disparity of the means", column, None, spread, ""))
    for at, stratum in enumerate((*m.strata, None)):
        title = None if stratum is None else label(evaluation.strata, stratum)
        share = m.rows[at, 1] / m.rows[-1, 1] if m.rows[-1, 1] else math.nan
        measures.append(("share of the rows, synthetic", "", title, float(share), ""))
        measures.append(
            ("share of the rows, real", "", title, float(m.rows[at, 0] / m.rows[-1, 0]), "")
        )
        for j, column in enumerate(m.columns):
            measures.append(("mean, real", column, title, float(m.real[at, j]), ""))
            measures.append(("mean, synthetic", column, title, float(m.synthetic[at, j]), ""))
    return measures


def _classifier_rows(
    evaluation: Evaluation, target: Target, trained: str, scores: ClassifierScores
) -> list[tuple[str, str, str | None, float | None, str]]:
    about = f"{target.column} = {target.positive}, trained on {trained} rows"
    tested_on = (
        "" if target.held_out is not None else "tested on rows that the synthesizer was given"
    )
    whole = (
        ("accuracy", scores.accuracy),
        ("macro F1", scores.macro_f1),
        ("demographic parity", scores.demographic_parity),
        ("max FPR difference", scores.fpr_difference),
        ("max FNR difference", scores.fnr_difference),
    )
    measures: list[tuple[str, str, str | None, float | None, str]] = [
        (measure, about, None, value, tested_on) for measure, value in whole
    ]
    for stratum, r in scores.strata.items():
        title = label(evaluation.strata, stratum)
        for measure, value in (
            ("selected", r.selected),
            ("FPR", r.false_positive),
            ("FNR", r.false_negative),
        ):
            measures.append((measure, about, title, value, tested_on))
    return measures
