"""`python tests/bench/peers.py [--tables …] [--epsilons …]`: other libraries beside ours.

dpmm's MST, AIM and PrivBayes, and smartnoise-synth's MST and AIM (mbi's mechanisms: mbi 2 has none
in its package) and dpctgan (by opacus), each in an environment of its own, which is made once
(`--envs`, gigabytes for smartnoise's torch). What cannot be installed, or fails, is named.

All get the same rows, epsilon and delta, the same declared lists and intervals. The others take
levels alone, so that numbers are cut into BINS of equal width, and drawn evenly inside. They know
the number of rows, which ours has to buy; ours chooses bins by itself, at a part of its price, and
measures its own error, too. Figures are those of `tables/figures.py`, CPU of fitting and drawing.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import numpy as np
import pandas as pd
from bench.tables.declared import OUTCOMES, build_vault
from bench.tables.every_table import measure
from bench.tables.figures import FIGURES, compare, read_frame

from sqlpriv.kernel.terms.contract import Categories, ColumnDomain, Interval

BINS, DELTA = 32, 1e-9
CHILD = Path(__file__).with_name("peer_child.py")
PACKAGES = {
    "dpmm": ("dpmm==0.1.9",),
    "smartnoise": ("smartnoise-synth==1.0.8", "packaging"),  # opacus does not name packaging
}
PEERS = {"dpmm": ("mst", "aim", "privbayes"), "smartnoise": ("mst", "aim", "dpctgan")}
TABLES = ("nltcs", "randhie", "pension_401k", "compas_two_years")
"""Of few columns and of numbers with many zeros; neither library nor ours was tuned on the last."""


class Outcome(NamedTuple):
    """What came of one run: figures, or why there are none."""

    figures: Mapping[str, float]
    failed: str = ""


def make_environment(folder: Path, library: str) -> tuple[Path, str]:
    """Returns an environment's Python, made where it is not there; and why it is not to be had."""
    place = folder / library
    python = place / "bin" / "python"
    if (place / "ready").exists():
        return python, ""
    venv.create(place, with_pip=True, clear=True)
    command = [str(python), "-m", "pip", "install", "-q", *PACKAGES[library]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return python, (done.stderr.strip().splitlines() or ["pip failed"])[-1]
    (place / "ready").touch()
    return python, ""


def levels_of(column: pd.Series, domain: ColumnDomain) -> tuple[np.ndarray, int]:
    """Returns the level of each row and how many levels there are: of a list its values, of an
    interval BINS, or its whole numbers where they are fewer; NULL is the last."""
    if isinstance(domain, Categories):
        labels = [str(v) for v in domain.labels if v is not None]
        number = {label: i for i, label in enumerate(labels)} | {
            float(v): i for i, v in enumerate(domain.labels) if isinstance(v, int | float)
        }
        codes = column.map(number).fillna(len(labels)).to_numpy(np.int64)
        return codes, len(labels) + int(None in domain.labels)
    cuts = _cuts(domain)
    codes = np.searchsorted(cuts[1:-1], column.to_numpy(float), side="right")
    missing = column.isna().to_numpy()
    return np.where(missing, len(cuts) - 1, codes), len(cuts) - 1 + int(domain.nullable)


def values_of(
    codes: np.ndarray, real: pd.Series, domain: ColumnDomain, rng: np.random.Generator
) -> pd.Series:
    """Returns values for levels, as the real column's are written; evenly inside a bin, and whole
    numbers where the real ones are."""
    if isinstance(domain, Categories):
        labels = [v for v in domain.labels if v is not None]
        typed = labels if pd.api.types.is_numeric_dtype(real) else [str(v) for v in labels]
        listed = np.array([*typed, None], dtype=object)
        return pd.Series(listed[np.minimum(codes, len(labels))]).astype(real.dtype)
    cuts = _cuts(domain)
    at = np.minimum(codes, len(cuts) - 2)
    drawn = cuts[at] + rng.random(len(at)) * (cuts[at + 1] - cuts[at])
    if (real.dropna() % 1 == 0).all():
        drawn = np.minimum(np.floor(drawn), cuts[-1])
    return pd.Series(np.where(codes > len(cuts) - 2, np.nan, drawn))


def _cuts(domain: Interval) -> np.ndarray:
    low, high = (
        pd.Timestamp(x).timestamp() if not isinstance(x, int | float) else float(x)
        for x in (domain.lower, domain.upper)
    )
    return np.linspace(low, high, BINS + 1)


def run_peer(python: Path, request: dict[str, Any], limit_s: int) -> tuple[float, str]:
    """Runs one request; returns its processor seconds, and why it failed."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(request))
        file.flush()
        try:
            done = subprocess.run(
                [str(python), str(CHILD), file.name],
                capture_output=True,
                text=True,
                timeout=10 * limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 0.0, f"not done after {10 * limit_s} s of waiting"
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return 0.0, f"not done after {limit_s} CPU s"
    if done.returncode:
        return 0.0, (done.stderr.strip().splitlines() or ["it was ended"])[-1][:100]
    return float(json.loads(done.stdout.strip().splitlines()[-1])["cpu"]), ""


def measure_peer(
    python: Path, library: str, method: str, table: str, epsilon: float, rows: int, limit_s: int
) -> Outcome:
    """Returns the figures of one method of a library on one table."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        declared = build_vault(folder, table, rows)
        names = list(declared.domains)
        real = read_frame(declared.vault, "people", names)
        levels, sizes = {}, {}
        for i, column in enumerate(names):
            codes, size = levels_of(real[column], declared.domains[column])
            levels[f"c{i}"], sizes[f"c{i}"] = codes, size
        pd.DataFrame(levels).to_csv(folder / "levels.csv", index=False)
        request = {
            "library": library,
            "method": method,
            "epsilon": epsilon,
            "delta": DELTA,
            "sizes": sizes,
            "limit": limit_s,
            "levels": str(folder / "levels.csv"),
            "drawn": str(folder / "drawn.csv"),
        }
        seconds, failed = run_peer(python, request, limit_s)
        if failed:
            return Outcome({}, failed)
        codes = pd.read_csv(folder / "drawn.csv")
    columns = {
        name: values_of(codes[f"c{i}"].to_numpy(), real[name], declared.domains[name], rng)
        for i, name in enumerate(names)
    }
    drawn = pd.DataFrame(columns)
    wide = [n for n, d in declared.domains.items() if isinstance(d, Interval)]
    target, stratum = (x if x in names else "" for x in OUTCOMES.get(table, ("", "")))
    return Outcome({"cpu": seconds} | compare(real, drawn, wide, target, stratum))


def mean_figures(outcomes: list[Outcome]) -> Outcome:
    """Returns the means over runs; the failure of the first that failed."""
    for outcome in outcomes:
        if outcome.failed:
            return outcome
    names = outcomes[0].figures
    return Outcome({n: float(np.mean([o.figures[n] for o in outcomes])) for n in names})


def measure_ours(table: str, method: str, epsilon: float, rows: int) -> Outcome:
    """Returns the figures of one of our methods, of a whole statement over the gate."""
    line = measure(table, method, epsilon, rows)
    if "refused" in line:
        return Outcome({}, line["refused"])
    return Outcome({name: line[name] for name in ("cpu", *FIGURES)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--rows", type=int, default=10_000, help="of a table, at most")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=300, help="CPU seconds of one run of a peer")
    parser.add_argument("--ours", nargs="*", default=["mst", "aim", "privbayes"])
    parser.add_argument("--peers", nargs="*", default=None, help="dpmm:mst smartnoise:dpctgan …")
    parser.add_argument("--envs", type=Path, default=Path(tempfile.gettempdir()) / "sqlpriv-peers")
    given = parser.parse_args()
    asked = [(library, m) for library, methods in PEERS.items() for m in methods]
    if given.peers is not None:
        asked = [(library, m) for library, _, m in (p.partition(":") for p in given.peers)]
    pythons: dict[str, Path] = {}
    for library in dict.fromkeys(library for library, _ in asked):
        began = time.perf_counter()
        python, missing = make_environment(given.envs, library)
        if missing:
            print(f"{library} cannot be had here, and is left out: {missing}", flush=True)
            continue
        pythons[library] = python
        print(f"{PACKAGES[library][0]}: ready in {time.perf_counter() - began:.0f} s", flush=True)
    names = ("cpu", *FIGURES)
    print(f"{'table':<20}{'eps':>5} {'method':<22}" + "".join(f"{n:>11}" for n in names))
    for table in given.tables:
        for epsilon in given.epsilons:
            for method in given.ours:
                runs = [measure_ours(table, method, epsilon, given.rows) for _ in range(given.runs)]
                _print(table, epsilon, f"sqlpriv {method}", mean_figures(runs))
            for library, method in asked:
                if library not in pythons:
                    continue
                runs = []
                for _ in range(given.runs):
                    runs.append(
                        measure_peer(
                            pythons[library],
                            library,
                            method,
                            table,
                            epsilon,
                            given.rows,
                            given.limit,
                        )
                    )
                    if runs[-1].failed:
                        break
                _print(table, epsilon, f"{library} {method}", mean_figures(runs))


def _print(table: str, epsilon: float, name: str, outcome: Outcome) -> None:
    names = ("cpu", *FIGURES)
    shown = "".join(f"{outcome.figures.get(n, np.nan):11.3f}" for n in names)
    print(f"{table:<20}{epsilon:>5g} {name:<22}{outcome.failed or shown}", flush=True)


if __name__ == "__main__":
    main()
