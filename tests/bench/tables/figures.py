"""How far synthetic rows are from the real ones: figures of one table."""

from __future__ import annotations

import itertools
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

BINS, TRIPLES, LEAST = 16, 60, 20
FIGURES = ("1-way", "2-way", "3-way", "KS", "mean", "sd", "spearman", "by stratum", "AUC")
Codes = NDArray[np.int64]


def read_frame(file: Path, table: str, names: list[str]) -> pd.DataFrame:
    """Returns the columns: numbers; dates and times as seconds since 1970; text as it is."""
    with duckdb.connect(str(file), read_only=True) as engine:
        types = {n: t for n, t, *_ in engine.execute(f"DESCRIBE {table}").fetchall()}
        selected = []
        for name in names:
            kind = types[name].split("(")[0]
            is_moment = kind.startswith(("DATE", "TIMESTAMP"))
            expr = f'epoch("{name}")' if is_moment else f'"{name}"'
            cast = "VARCHAR" if kind in ("VARCHAR", "BOOLEAN", "ENUM", "UUID") else "DOUBLE"
            selected.append(f'{expr}::{cast} AS "{name}"')
        return engine.execute(f"SELECT {', '.join(selected)} FROM {table}").df()


def compare(
    real: pd.DataFrame, drawn: pd.DataFrame, wide: list[str], target: str, stratum: str
) -> dict[str, float]:
    """Returns FIGURES.

    `1-way` to `3-way` are the mean total variation distance of the marginals of so many columns
    (of triples, TRIPLES drawn once for all), numbers of many values cut into BINS at the real
    rows' quantiles. `KS`, `mean` (in standard deviations), `sd` (relative) and `spearman` are the
    means over columns of many values, and over their pairs, of the absolute error. `by stratum` is
    the error of a column's mean inside a stratum in standard deviations, the mean over the strata
    of at least LEAST rows and over the numeric columns. `AUC` is that on the real rows of a
    logistic regression trained on the synthetic ones.

    Args:
        real, drawn: Of the same columns.
        wide: The numeric columns of many values.
        target, stratum: See `declared.OUTCOMES`; '' for none.
    """
    if len(drawn) < 2:
        return dict.fromkeys(FIGURES, np.nan) | {"1-way": 1.0, "2-way": 1.0, "3-way": 1.0}
    codes = [_codes(real[n], drawn[n], n in wide) for n in real]
    mine, theirs = (np.stack([c[i] for c in codes], axis=1) for i in (0, 1))
    sizes = [int(max(a.max(), b.max())) + 1 for a, b in codes]
    figures = {f"{k}-way": _apart(mine, theirs, sizes, k) for k in (1, 2, 3)}
    columns = [_of_column(real[n].to_numpy(float), drawn[n].to_numpy(float)) for n in wide]
    for i, name in enumerate(("KS", "mean", "sd")):
        figures[name] = float(np.nanmean([c[i] for c in columns])) if columns else np.nan
    gaps = [
        abs(_spearman(real, u, v) - _spearman(drawn, u, v))
        for u, v in itertools.combinations(wide, 2)
    ]
    figures["spearman"] = float(np.mean(gaps)) if gaps else np.nan
    figures["by stratum"] = _by_stratum(real, drawn, stratum) if stratum else np.nan
    figures["AUC"] = auc(mine, theirs, sizes, list(real).index(target)) if target else np.nan
    return figures


def marginal_errors(
    real: pd.DataFrame, drawn: pd.DataFrame, wide: list[str], most: int
) -> dict[int, float]:
    """Returns the total variation distance of marginals of one and of two columns, as in `compare`:
    the mean over `most` of them at most, drawn once for all."""
    if len(drawn) < 2 or not len(real):
        return {1: 1.0, 2: 1.0}
    codes = [_codes(real[n], drawn[n], n in wide) for n in real]
    mine, theirs = (np.stack([c[i] for c in codes], axis=1) for i in (0, 1))
    sizes = [int(max(a.max(), b.max())) + 1 for a, b in codes]
    return {k: _apart(mine, theirs, sizes, k, most) for k in (1, 2)}


def _codes(real: pd.Series, drawn: pd.Series, wide: bool) -> tuple[Codes, Codes]:
    if wide:
        values = real.dropna().to_numpy(float)
        cuts = np.unique(np.quantile(values, np.arange(1, BINS) / BINS))
        both = []
        for column in (real, drawn):
            numbers = column.to_numpy(float)
            level = np.searchsorted(cuts, numbers, side="right")
            both.append(np.where(np.isnan(numbers), len(cuts) + 1, level).astype(np.int64))
        return both[0], both[1]
    labels = {value: i + 1 for i, value in enumerate(sorted(real.dropna().unique()))}
    both = [column.map(labels).fillna(0).to_numpy(np.int64) for column in (real, drawn)]
    return both[0], both[1]


def _apart(
    mine: Codes, theirs: Codes, sizes: list[int], ways: int, most: int | None = None
) -> float:
    cliques = list(itertools.combinations(range(len(sizes)), ways))
    most = most or (TRIPLES if ways == 3 else len(cliques))
    if len(cliques) > most:
        chosen = np.random.default_rng(0).choice(len(cliques), most, replace=False)
        cliques = [cliques[i] for i in chosen]
    distances = []
    for clique in cliques:
        shape = [sizes[c] for c in clique]
        cells = [np.ravel_multi_index([x[:, c] for c in clique], shape) for x in (mine, theirs)]
        length = int(np.prod(shape))
        if length > 100_000:  # number the occupied cells alone
            _, joined = np.unique(np.concatenate(cells), return_inverse=True)
            cells, length = [joined[: len(mine)], joined[len(mine) :]], int(joined.max()) + 1
        shares = [np.bincount(c, minlength=length) / len(c) for c in cells]
        distances.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(distances)) if distances else np.nan


def _of_column(real: NDArray[np.float64], drawn: NDArray[np.float64]) -> tuple[float, float, float]:
    real, drawn = np.sort(real[~np.isnan(real)]), np.sort(drawn[~np.isnan(drawn)])
    if not drawn.size or not real.size:
        return np.nan, np.nan, np.nan
    every = np.concatenate([real, drawn])
    shares = [np.searchsorted(x, every, side="right") / x.size for x in (real, drawn)]
    spread = max(real.std(), 1e-12)
    gap = float(np.abs(shares[0] - shares[1]).max())
    return gap, abs(drawn.mean() - real.mean()) / spread, abs(drawn.std() / spread - 1)


def _spearman(frame: pd.DataFrame, u: str, v: str) -> float:
    both = frame[[u, v]].dropna().rank()
    if len(both) < 2 or both.std().min() == 0:
        return 0.0
    return float(np.corrcoef(both[u], both[v])[0, 1])


def _by_stratum(real: pd.DataFrame, drawn: pd.DataFrame, stratum: str) -> float:
    numbers = [n for n in real if n != stratum and pd.api.types.is_numeric_dtype(real[n])]
    spread, errors = real[numbers].std().clip(lower=1e-9), []
    fakes = dict(list(drawn.groupby(stratum)))
    for value, rows in real.groupby(stratum):
        if len(rows) >= LEAST:
            gap = (rows[numbers].mean() - fakes.get(value, drawn)[numbers].mean()).abs() / spread
            errors.append(float(gap.mean()))
    return float(np.mean(errors)) if errors and numbers else np.nan


def auc(real: Codes, drawn: Codes, sizes: list[int], target: int) -> float:
    """Returns the AUC, on the real rows, of a logistic regression on the levels of all other
    columns, trained on the drawn rows; .5 where those have one class."""
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    common = np.bincount(real[:, target]).argmax()
    features = []
    for codes in (drawn[:20_000], real):
        blocks = [
            sparse.csr_matrix(
                (np.ones(len(codes)), (np.arange(len(codes)), codes[:, c])), (len(codes), size)
            )
            for c, size in enumerate(sizes)
            if c != target
        ]
        features.append(sparse.hstack(blocks, format="csr"))
    classes = drawn[:20_000, target] == common
    if classes.all() or not classes.any():
        return 0.5
    fitted = LogisticRegression(max_iter=200, C=0.1).fit(features[0], classes)
    return float(roc_auc_score(real[:, target] == common, fitted.decision_function(features[1])))
