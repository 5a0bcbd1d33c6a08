"""Figures and numbers of the experiments, from the Parquet files alone."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import duckdb
import pandas as pd

SHARED = Path(__file__).resolve().parents[4] / "shared"
AUTHORS = SHARED / "reference" / "mean_estimation_summary.csv"


NAMED = {
    "ours": "ours: population_share = auto",
    "strata only": "ours: strata only",
    "coinpress": "ours: USING coinpress",
    "strata by quantile": "ours: USING quantile",
}


def draw(folder: Path) -> None:
    """Writes the figures as SVG."""
    found = pd.read_parquet(folder / "census.parquet")
    at_rho = found[found.price == "rho 0.5"].replace({"method": NAMED})
    authors = pd.read_csv(AUTHORS)
    theirs = pd.concat(
        pd.DataFrame(
            {
                "column": authors.column,
                "k": authors.k,
                "method": f"authors: {name}",
                "population_relative": authors[f"abs_err_{key}"] / authors.true_mean,
                "parity_error": authors[f"parity_error_{key}_def10"],
            }
        )
        for name, key in (("Coinpress", "coinpress"), ("StratCoinpress", "strat"))
    )
    both = pd.concat(
        [at_rho[["column", "k", "method", "population_relative", "parity_error"]], theirs]
    )
    panels = {
        2: ("population_relative", "relative error of everybody's mean"),
        8: ("parity_error", "parity error (Definition 10)"),
    }
    for number, (measure, title) in panels.items():
        _by_k(both, measure, title).save(str(folder / f"figure{number}.svg"))
    if (folder / "mixture.parquet").exists():
        mixed = pd.read_parquet(folder / "mixture.parquet")
        for number, axis in ((3, "n"), (6, "k"), (7, "alpha")):
            _mixture(mixed, axis).save(str(folder / f"figure{number}.svg"))
    if (folder / "border.parquet").exists():
        _border(pd.read_parquet(folder / "border.parquet")).save(str(folder / "border.svg"))


def _border(table: pd.DataFrame) -> alt.FacetChart:
    """One panel a shape, the error against the declared width, logarithmic both."""
    chart = (
        alt.Chart(table)
        .mark_line(point=True)
        .encode(
            alt.X(
                "width:Q",
                title="declared width, in true standard deviations of a group",
                scale=alt.Scale(type="log"),
            ),
            alt.Y(
                "error:Q",
                title="root mean square error of a group's mean",
                scale=alt.Scale(type="log"),
            ),
            alt.Color("method:N", title=None, scale=alt.Scale(scheme="tableau10")),
        )
    )
    faceted = chart.properties(width=330, height=260).facet(
        alt.Facet("shape:N", title=None), columns=2
    )
    return faceted.configure_legend(orient="bottom")


def _by_k(table: pd.DataFrame, measure: str, title: str) -> alt.FacetChart:
    """One panel a column, the error against the number of strata, logarithmic both."""
    mean = table.groupby(["column", "k", "method"], as_index=False)[measure].mean()
    chart = (
        alt.Chart(mean)
        .mark_line(point=True)
        .encode(
            alt.X("k:Q", title="strata (k)", scale=alt.Scale(type="log")),
            alt.Y(f"{measure}:Q", title=title, scale=alt.Scale(type="log")),
            alt.Color("method:N", title=None, scale=alt.Scale(scheme="tableau10")),
        )
    )
    faceted = chart.properties(width=210, height=190).facet(
        alt.Facet("column:N", title=None, sort=["SCHL", "WKHP", "JWMNP", "PINCP"]), columns=4
    )
    return faceted.resolve_scale(y="independent").configure_legend(orient="bottom", columns=3)


def _mixture(table: pd.DataFrame, axis: str) -> alt.Chart:
    mean = table.groupby([axis, "method"], as_index=False)["error"].mean()
    return (
        alt.Chart(mean)
        .mark_line(point=True)
        .encode(
            alt.X(f"{axis}:Q", scale=alt.Scale(type="linear" if axis == "n" else "log")),
            alt.Y(
                "error:Q",
                title="mean absolute error of the population's mean",
                scale=alt.Scale(type="log"),
            ),
            alt.Color("method:N", title=None, legend=alt.Legend(orient="bottom", columns=2)),
        )
        .properties(width=420, height=280)
    )


FRESH = """(SELECT price, "column", sum(repetitions) AS times,
                   sum(repetitions * population_square) / sum(repetitions) AS square
            FROM census WHERE method = 'unstratified' GROUP BY ALL)"""
"""Unstratified answers are of one distribution whatever they are compared with: all are pooled."""
RATIO = f"""round(sqrt(sum(a.repetitions * a.population_square / f.square) / sum(a.repetitions)), 3)
               AS ratio, sum(a.repetitions)::INTEGER AS answers,
               any_value(f.times) * count(DISTINCT (price, "column")) AS fresh,
               round(ratio * sqrt(0.5 / answers + 0.5 / fresh), 3) AS error
        FROM census AS a JOIN {FRESH} AS f USING (price, "column")
        WHERE a.method = 'ours' AND k <= 64 AND "column" <> 'PINCP'"""
"""Root mean square errors by those of unstratified answers, and the ratio's standard error."""
PAIRS = """census AS a JOIN authors AS b
          ON list_sort(split(a.combination, '+')) = list_sort(split(b.combination, '+'))
         AND a."column" = b."column" WHERE a.price = 'rho 0.5'"""


QUESTIONS = {
    "1. Population's root mean square error, ours / unstratified, k <= 64": f"""
        SELECT price, "column", {RATIO} GROUP BY ALL ORDER BY ALL""",
    "1b. The same by the number of strata, columns and prices pooled": f"""
        SELECT k, {RATIO} GROUP BY ALL ORDER BY ALL""",
    "1c. The same of all": f"SELECT {RATIO}",
    "2. Parity error at rho = 0.5: ours / the authors' StratCoinpress, same combinations": f"""
        SELECT a."column", a.method, round(avg(a.parity_error / b.parity_error_strat_def10), 3)
               AS mean_ratio, round(max(a.parity_error / b.parity_error_strat_def10), 3) AS worst,
               count(*) FILTER (WHERE a.parity_error <= b.parity_error_strat_def10 / 2)
               AS within_a_half, count(*) AS combinations
        FROM {PAIRS} AND a.method <> 'unstratified' GROUP BY ALL ORDER BY ALL""",
    "2b. Those above 0.45 of it, and the standard error": f"""
        SELECT a.combination, a."column", a.method,
               round(a.parity_error / b.parity_error_strat_def10, 3) AS ratio,
               round(a.parity_deviation / sqrt(a.repetitions) / b.parity_error_strat_def10, 3)
               AS error
        FROM {PAIRS} AND a.method IN ('ours', 'strata by quantile') AND a."column" <> 'PINCP'
          AND ratio > 0.45 ORDER BY ratio DESC""",
    "3. SCHL at rho = 0.5: the mean over repetitions of the worst relative error among strata of "
    "10,000 and more": """
        SELECT method, round(max(worst_large), 5) AS worst FROM census
        WHERE price = 'rho 0.5' AND "column" = 'SCHL'
          AND method <> 'unstratified'
        GROUP BY ALL ORDER BY ALL""",
    "4. PINCP's parity error, ours / plain Laplace, same price (pure epsilon)": """
        SELECT price, round(avg(a.parity_error) / avg(b.parity_error), 3) AS ratio_of_means,
               round(avg(a.parity_error / b.parity_error), 3) AS mean_of_ratios,
               round(max(a.parity_error / b.parity_error), 3) AS worst,
               count(*) FILTER (WHERE a.parity_error <= b.parity_error / 3) AS within_a_third,
               count(*) AS combinations
        FROM census AS a JOIN census AS b USING (combination, "column", price)
        WHERE a.method = 'strata only' AND b.method = 'plain laplace'
        GROUP BY ALL ORDER BY ALL""",
    "4b. The same by combination: ratios at each epsilon": """
        PIVOT (SELECT a.combination, a.k, a.price,
                      round(a.parity_error / b.parity_error, 2) AS ratio
               FROM census AS a JOIN census AS b USING (combination, "column", price)
               WHERE a.method = 'strata only' AND b.method = 'plain laplace')
        ON price USING first(ratio) ORDER BY k, combination""",
    "4c. The floor: a clipped sum told the best interval and the size, by plain Laplace": """
        PIVOT (SELECT b.combination, b.k, b.price, round(f.floor / b.parity_error, 2) AS ratio
               FROM floor AS f JOIN census AS b USING (combination, price)
               WHERE b.method = 'plain laplace')
        ON price USING first(ratio) ORDER BY k, combination""",
    "5. Strata under 0.1 % of the rows, at rho = 0.5: median absolute error": """
        SELECT "column", method, round(avg(small_error), 3) AS error FROM census
        WHERE price = 'rho 0.5' GROUP BY ALL ORDER BY ALL""",
    "6. The normal mixture: mean absolute error of the population's mean": """
        SELECT method, round(avg(error), 6) AS error FROM mixture GROUP BY ALL ORDER BY error""",
    "7. The border: root mean square error of a group's mean (true spread 1) by declared width": """
        PIVOT (SELECT shape, width, method, round(error, 3) AS error FROM border)
        ON method USING first(error) ORDER BY shape, width""",
}


TABLES = ("census", "floor", "mixture", "border")


def _shown(answer: duckdb.DuckDBPyConnection) -> str:
    """Returns every row of an answer as text."""
    return answer.df().to_string(index=False) + "\n"


def tell(folder: Path) -> None:
    """Prints the numbers that README.md quotes, and writes them beside the figures."""
    with duckdb.connect() as engine:
        there = [name for name in TABLES if (folder / f"{name}.parquet").exists()]
        for name in there:
            engine.execute(f"CREATE VIEW {name} AS FROM '{folder / name}.parquet'")
        engine.execute(f"CREATE VIEW authors AS FROM '{AUTHORS}'")
        absent = set(TABLES) - set(there)
        known = [(t, sql) for t, sql in QUESTIONS.items() if not any(x in sql for x in absent)]
        parts = [f"{title}\n\n{_shown(engine.execute(sql))}" for title, sql in known]
    (folder / "numbers.txt").write_text("\n".join(parts), "utf-8")
    print("\n".join(parts))
