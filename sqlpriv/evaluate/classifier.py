"""A classifier trained on synthetic rows and tested on real ones: does it serve every stratum?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import DataError, InterfaceError
from sqlpriv.evaluate.levels import stratum_labels
from sqlpriv.evaluate.workload_error import Stratum
from sqlpriv.kernel.sql.quoting import name

if TYPE_CHECKING:
    import pandas as pd

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Rates:
    """How a classifier treats one stratum's test rows; None where there is nothing to divide by.

    Attributes:
        rows: Test rows.
        selected: Share that is classified as positive.
        false_positive: Share of the negatives that is classified as positive (FPR).
        false_negative: Share of the positives that is classified as negative (FNR).
    """

    rows: int
    selected: float | None
    false_positive: float | None
    false_negative: float | None


@dataclass(frozen=True)
class ClassifierScores:
    """How well a classifier does on the test rows.

    Attributes:
        accuracy: Share of rows classified rightly.
        macro_f1: F1 averaged over the target's two classes.
        strata: Its rates in each stratum of the test rows.
        demographic_parity: The smallest share selected over the largest (Hardt, Price and Srebro
            2016): 1 is parity. None where no stratum has a positive.
        fpr_difference: The largest less the smallest FPR among the strata; None without two.
        fnr_difference: The same of the FNR.
    """

    accuracy: float
    macro_f1: float
    strata: dict[Stratum, Rates]
    demographic_parity: float | None
    fpr_difference: float | None
    fnr_difference: float | None


def classify(
    train: duckdb.DuckDBPyRelation,
    test: duckdb.DuckDBPyRelation,
    target: str,
    positive: object,
    strata: Sequence[str],
) -> ClassifierScores:
    """Trains gradient-boosted trees on one table and tests them on another.

    Args:
        train: Rows to learn from: all their columns but the target are features.
        test: Rows with the same columns.
        target: The column to predict; rows where it is NULL are left out of both.
        positive: Its value that counts as positive; every other one is negative.
        strata: The columns that make the strata.

    Raises:
        DataError: The training rows have one class only, or there are no test rows.
        InterfaceError: scikit-learn is not installed.
    """
    columns = [c for c in train.columns if c != target]
    x, y, _ = _rows(train, columns, target, positive, ())
    held, truth, labels = _rows(test, columns, target, positive, strata)
    if not len(truth):
        raise DataError("there are no rows to test a classifier on")
    if y.all() or not y.any():
        raise DataError(
            f"the rows to train on have one class of {target} only; choose another target or"
            " positive value"
        )
    model = _model(columns, x, held)
    predicted = np.asarray(model.fit(x, y).predict(held), dtype=bool)
    return _scores(truth, predicted, labels)


def _rows(
    relation: duckdb.DuckDBPyRelation,
    columns: Sequence[str],
    target: str,
    positive: object,
    strata: Sequence[str],
) -> tuple[pd.DataFrame, Flags, list[Stratum]]:
    t = name(target)
    labelled = relation.filter(f"{t} IS NOT NULL")
    features = labelled.project(", ".join(_feature(labelled, c) for c in columns)).df()
    wanted = _literal(positive)
    y = np.asarray(
        labelled.project(f"CAST({t} AS VARCHAR) = {wanted} AS y").fetchnumpy()["y"], bool
    )
    if not strata:
        return features, y, []
    labels = labelled.project(stratum_labels(labelled, strata)).fetchall()
    return features, y, [tuple(label) for label in labels]


def _literal(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "'" + text.replace("'", "''") + "'"


def _feature(relation: duckdb.DuckDBPyRelation, column: str) -> str:
    kind = str(relation.types[relation.columns.index(column)])
    c = name(column)
    if kind in ("VARCHAR", "UUID") or kind.startswith("ENUM("):
        return f"CAST({c} AS VARCHAR) AS {c}"
    if kind.startswith(("DATE", "TIMESTAMP")):
        return f"epoch(CAST({c} AS TIMESTAMP)) AS {c}"
    return f"CAST({c} AS DOUBLE) AS {c}"


def _model(columns: Sequence[str], train: pd.DataFrame, test: pd.DataFrame) -> Any:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise InterfaceError(
            'a classifier needs scikit-learn: pip install "sqlpriv[evaluate]"'
        ) from None
    texts = [c for c in columns if train[c].dtype.kind not in "fiub"]
    for c in texts:  # One code per text, the same in both tables.
        codes = {v: i for i, v in enumerate(sorted(set(train[c].dropna()) | set(test[c].dropna())))}
        for frame in (train, test):
            frame[c] = frame[c].map(codes).astype(float)
    return HistGradientBoostingClassifier(max_iter=60, random_state=0)


def _scores(truth: Flags, predicted: Flags, labels: Sequence[Stratum]) -> ClassifierScores:
    from sklearn.metrics import accuracy_score, f1_score

    at: dict[Stratum, list[int]] = {}
    for i, label in enumerate(labels):
        at.setdefault(label, []).append(i)
    strata = {label: rates(truth[i], predicted[i]) for label, i in sorted(at.items())}
    return ClassifierScores(
        accuracy=float(accuracy_score(truth, predicted)),
        macro_f1=float(f1_score(truth, predicted, average="macro", zero_division=0)),
        strata=strata,
        demographic_parity=_ratio([r.selected for r in strata.values()]),
        fpr_difference=_spread_of([r.false_positive for r in strata.values()]),
        fnr_difference=_spread_of([r.false_negative for r in strata.values()]),
    )


def rates(truth: Flags, predicted: Flags) -> Rates:
    """Returns the rates of one stratum.

    Args:
        truth: (n,) which rows are positive.
        predicted: (n,) which rows are classified as positive.

    >>> rates(np.array([True, True, False]), np.array([True, False, False]))
    Rates(rows=3, selected=0.3333333333333333, false_positive=0.0, false_negative=0.5)
    """
    return Rates(
        len(truth), _share(predicted), _share(predicted[~truth]), _share(~predicted[truth])
    )


def _share(flags: Flags) -> float | None:
    return float(flags.mean()) if len(flags) else None


def _spread_of(values: Sequence[float | None]) -> float | None:
    defined = [v for v in values if v is not None]
    return max(defined) - min(defined) if len(defined) > 1 else None


def _ratio(values: Sequence[float | None]) -> float | None:
    defined = [v for v in values if v is not None]
    return min(defined) / max(defined) if defined and max(defined) > 0 else None
