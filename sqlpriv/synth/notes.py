"""Remarks about a synthetic table that stand under its statement's answer.

They are made of the statement, of declarations and of noised numbers, so they may be published.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sqlpriv.synth.adaptive.stratum_model import StratumCliques
from sqlpriv.synth.api.method import Model, Options
from sqlpriv.synth.domain.domain import Domain
from sqlpriv.synth.domain.structural_zeros import Kept, Zeros
from sqlpriv.synth.drawing import UNASKED_ROWS

NAMED = 5
"""How many strata a note names."""


def notes_of(
    domain: Domain, options: Options, drawn: int, models: Sequence[Model], weighted: bool
) -> tuple[str, ...]:
    """Returns remarks on the number of rows, on the size of the models and on merged strata.

    A merged stratum has no model of its own, because it is too small: it follows the population.

    Args:
        domain, options: Of the statement.
        drawn: How many rows were drawn.
        models: One for each stratum.
        weighted: Whether public weights say how large the strata are.
    """
    notes = _row_notes(domain, options, drawn, weighted)
    trees = [m.model.cells for m in models if isinstance(m, StratumCliques)]
    if trees:
        notes += (f"junction trees have {max(trees)} cells, of {options['cells']} at most",)
    merged = [i for i, m in enumerate(models) if isinstance(m, StratumCliques) and m.merged]
    if not merged:
        return notes
    what = f"{len(merged)} of {len(models)} strata are too small to be modelled by themselves"
    return (*notes, f"{what} and follow the population: {_labels(domain, merged)}")


def zeros_note(zeros: Zeros, known: Kept) -> str:
    """Returns how impossible rows were kept out of the table.

    Args:
        zeros: The constraints of OPTIONS (zeros = …), in parts.
        known: The parts that the models give no probability. A drawn row that breaks another part
            is thrown away and drawn again.
    """
    parts, kept_by_models = len(zeros.parts), known.whole
    if kept_by_models == parts:
        return "the models keep to zeros: no row was drawn twice"
    return (
        f"the models keep to {kept_by_models} of {parts} constraints of zeros: rows that break"
        " others were drawn again"
    )


def left_out_note(domain: Domain, strata: Sequence[int]) -> tuple[str, ...]:
    """Returns which strata have no rows because zeros or constraints rule out every row of theirs.

    Args:
        domain: Of the table.
        strata: Their numbers, row by row of the strata columns' levels; none gives no remark.
    """
    if not strata:
        return ()
    rules = "zeros or constraints" if domain.composed else "zeros"
    what = f"{rules} leave no possible row in {len(strata)} of {domain.strata_count} strata"
    return (f"{what}, which are left out: {_labels(domain, strata)}",)


def _labels(domain: Domain, strata: Sequence[int]) -> str:
    """Returns the first few of these strata, as people write them."""
    more = ", …" if len(strata) > NAMED else ""
    return ", ".join(_label(domain, s) for s in strata[:NAMED]) + more


def _label(domain: Domain, stratum: int) -> str:
    """Returns a stratum as people write it: (1, 'a')."""
    at = np.unravel_index(stratum, domain.strata_shape)
    values = (s.key.values[int(i)] for s, i in zip(domain.strata, at, strict=True))
    return f"({', '.join('NULL' if v is None else repr(v) for v in values)})"


def _row_notes(domain: Domain, options: Options, drawn: int, weighted: bool) -> tuple[str, ...]:
    rows = options["rows"]
    total = (
        "the row count is the noised total" if rows is None else f"the row count {rows} is given"
    )
    if options["totals"] == "weights":
        return (f"the rows of {domain.strata_count} strata are the public numbers",)
    strata = "WEIGHTS FROM" if weighted else "noised sizes"
    if rows is None and drawn == UNASKED_ROWS:
        total = f"the noised total is cut to {UNASKED_ROWS} rows; OPTIONS (rows = …) gives another"
    parts = [total]
    if domain.strata:
        parts.append(f"{domain.strata_count} strata in proportion to {strata}")
    return tuple(parts)
