"""A fitted model kept beside its table: more rows of it cost nothing.

Everything in it follows from releases and public facts, so drawing is post-processing. The file is
a pickle, which is read back with nothing but arrays, dates and this package's own value classes: a
file from elsewhere can name no other class or function.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import math
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.errors import OperationalError, Refused
from sqlpriv.statements import sql, written_name
from sqlpriv.synth.adaptive.stratum_model import StratumCliques
from sqlpriv.synth.api.method import Model
from sqlpriv.synth.domain.domain import Domain
from sqlpriv.synth.domain.structural_zeros import check_published, read_predicate
from sqlpriv.synth.drawing import draw_table
from sqlpriv.system import whole_files
from sqlpriv.system.file_modes import as_private_as
from sqlpriv.system.quiet_engine import open_engine

FIRST_BATCH = 10_000
MOST_DRAWN = 10_000_000
"""Rows that are drawn at most where only some are wanted."""
MOST_UNMET = 1_000_000
"""The same, as long as none of them is wanted."""
LARGER = 10
"""By how much a batch is larger than all before it, at most."""
VERSION = 4
_PLAIN = {
    "builtins": {"set", "frozenset", "slice", "range", "complex", "bytearray"},
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "decimal": {"Decimal"},
    "uuid": {"UUID"},
    "numpy": {"ndarray", "dtype"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
}


@dataclass(frozen=True, eq=False)
class KeptModel:
    """All that rows are drawn from.

    Args:
        domain: Levels of the columns, and how values lie inside them.
        models: One for each stratum.
        zeros: A predicate that no row meets, as SQL; None for none.
        weights: Public shares of the strata, shape (strata,); None for shares by size.
        types: SQL type of each published column.
        comment: What the first table says of itself.
        quality: Its quality line.
        version: Of this class and of those that it holds; others are refused.
    """

    domain: Domain
    models: Sequence[Model]
    zeros: str | None
    weights: NDArray[np.float64] | None
    types: Mapping[str, str]
    comment: str = ""
    quality: str = ""
    version: int = VERSION


def draw_rows(
    kept: KeptModel, rows: int, where: str | None = None, seed: int | None = None
) -> pa.Table:
    """Returns rows of a kept model; with `where`, rows for which it is true.

    Rows that do not meet the predicate are thrown away, so the others follow the model given it.

    Args:
        kept: From `read_model`.
        rows: How many.
        where: A predicate over published columns, in SQL; None for all rows.
        seed: The same seed draws the same rows; None for fresh ones.

    Raises:
        Refused: The predicate is none, names another column, or is met by too few rows.
    """
    rng = np.random.default_rng(seed)
    text = None if where is None else _predicate(where, kept.domain)
    if text is None:
        return _draw(kept, rows, rng)
    parts: list[pa.Table] = []
    have, drawn = 0, 0
    while drawn < (MOST_DRAWN if have else MOST_UNMET):
        batch = _next_batch(rows, have, drawn)
        parts.append(_matching_rows(_draw(kept, batch, rng), text))
        have, drawn = have + parts[-1].num_rows, drawn + batch
        if have >= rows:
            return pa.concat_tables(parts).slice(0, rows)
        if have and drawn >= MOST_UNMET and rows / have * drawn > 2 * MOST_DRAWN:
            break  # so many rows would never be had
    raise Refused(
        f"the model has too few rows for which that is true: {have} of {drawn:,} that were drawn",
        hint="take a wider WHERE, or fewer ROWS",
    )


def _next_batch(rows: int, have: int, drawn: int) -> int:
    """Returns how many rows to draw next: a fifth more than are missing at the share of wanted rows
    so far, LARGER times all that was drawn at most.

    >>> _next_batch(100, 0, 10_000), _next_batch(100, 20, 10_000)
    (100000, 48000)
    """
    if not drawn:
        return max(FIRST_BATCH, min(2 * rows, MOST_UNMET))
    needed = 1.2 * (rows - have) * drawn / have if have else MOST_UNMET
    most = min(LARGER * drawn, MOST_UNMET, (MOST_DRAWN if have else MOST_UNMET) - drawn)
    return max(1, min(math.ceil(needed), most))


def write_model(kept: KeptModel, folder: Path, name: str, vault: Path) -> None:
    """Writes a model whole or not at all, for the eyes that may see the vault."""
    models = [
        replace(m, model=replace(m.model)) if isinstance(m, StratumCliques) else m
        for m in kept.models
    ]  # copies know no marginals by heart
    with as_private_as(vault):
        folder.mkdir(exist_ok=True)
        path = _path(folder, name)
        built = whole_files.building(path)
        built.write_bytes(pickle.dumps(replace(kept, models=models), protocol=5))
        whole_files.into_place(built, path)


def read_model(folder: Path, name: str) -> KeptModel | None:
    """Returns the model of a table; None where none was kept.

    Raises:
        OperationalError: The file holds something else, or a model of another version.
    """
    path = _path(folder, name)
    if not path.exists():
        return None
    try:
        kept = _Unpickler(io.BytesIO(path.read_bytes())).load()
    except (pickle.UnpicklingError, EOFError, IndexError):
        kept = None
    except (AttributeError, ImportError, TypeError):  # its classes are not those of today
        raise _other_version(name) from None
    if not isinstance(kept, KeptModel):
        raise OperationalError(f'the kept model of "{name}" cannot be read; make the table again')
    if kept.version != VERSION:
        raise _other_version(name)
    return kept


def _other_version(name: str) -> OperationalError:
    return OperationalError(
        f'the model of "{name}" was kept by another version of sqlpriv, which alone reads it; the'
        f" table stays as it is, and CREATE OR REPLACE SYNTHETIC TABLE {written_name(name)} makes"
        " both anew, at its price"
    )


def forget_model(folder: Path, name: str) -> None:
    """Removes the model of a table, if there is one."""
    _path(folder, name).unlink(missing_ok=True)


def _path(folder: Path, name: str) -> Path:
    """Returns a file for a table's name, which may be any text."""
    return folder / f"{hashlib.sha256(name.lower().encode()).hexdigest()[:32]}.model"


class _Unpickler(pickle.Unpickler):
    """Makes nothing but arrays, plain values, and value classes of this package."""

    def find_class(self, module: str, name: str) -> Any:
        if name in _PLAIN.get(module, ()):
            return getattr(importlib.import_module(module), name)
        if module.startswith(("sqlpriv.synth.", "sqlpriv.kernel.terms.")):
            value_class = getattr(importlib.import_module(module), name, None)
            if isinstance(value_class, type) and (
                is_dataclass(value_class) or issubclass(value_class, Enum)
            ):
                return value_class
        raise pickle.UnpicklingError("a class that no kept model has")


def _draw(kept: KeptModel, rows: int, rng: np.random.Generator) -> pa.Table:
    options = {"rows": rows, "totals": "noised"}
    table, _ = draw_table(kept.domain, options, kept.zeros, kept.models, kept.weights, rng)
    return table


def _predicate(text: str, domain: Domain) -> str:
    """Returns a predicate over published columns, printed anew from its closed tree."""
    where = read_predicate(text, "synthetic", "WHERE")
    check_published(where, domain, 'the model has no column "{}"')
    return sql(where)


def _matching_rows(table: pa.Table, where: str) -> pa.Table:
    with open_engine(config={"enable_external_access": "false"}) as engine:
        engine.register("synthetic", table)
        try:
            text = f"SELECT coalesce({where}, false) AS met FROM synthetic"
            met = np.asarray(engine.execute(text).fetchnumpy()["met"], dtype=np.bool_)
        except duckdb.Error:
            raise Refused("the WHERE cannot be computed of the model's columns") from None
    return table.filter(pa.array(met))
