"""The synthesizers by name, and the reading of their OPTIONS. Imports neither JAX nor mbi."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlpriv.errors import Refused
from sqlpriv.synth.api.method import Method, Option
from sqlpriv.synth.methods import (
    aim,
    auto,
    gaussian,
    gem,
    histogram,
    independent,
    mst,
    mwem,
    pmw,
    privbayes,
)
from sqlpriv.synth.methods.batches import hdmm, privsyn, stability
from sqlpriv.synth.methods.graphs import privmrf
from sqlpriv.synth.methods.mixed import dpmerf, gsd, rap
from sqlpriv.synth.methods.nested import topdown

REGISTRY: Mapping[str, Method] = {
    m.name: m
    for m in (
        auto.METHOD,
        independent.METHOD,
        gaussian.METHOD,
        histogram.METHOD,
        mst.METHOD,
        mwem.METHOD,
        aim.METHOD,
        privbayes.METHOD,
        pmw.METHOD,
        gem.METHOD,
        hdmm.METHOD,
        privsyn.METHOD,
        privmrf.METHOD,
        gsd.METHOD,
        rap.METHOD,
        rap.ANNEALED,
        dpmerf.METHOD,
        topdown.METHOD,
        stability.METHOD,
    )
}

MAX_ROWS = 50_000_000

COMMON = (
    Option("bins", 32, "bins of a wide number or date column, at most", least=1, most=1000),
    Option(
        "binning",
        "auto",
        "levels by noised histograms, as many as the noise allows; or bins of equal width, or by"
        " noised quantiles",
        ("auto", "width", "quantile"),
    ),
    Option(
        "rows",
        None,
        "rows to draw; without it the noised total, up to 10 million",
        least=0,
        most=MAX_ROWS,
    ),
    Option(
        "outside",
        "drop",
        "rows with undeclared values: left out, or kept, the values being NULL or 'other'",
        ("drop", "null", "other"),
    ),
    Option("zeros", None, "a predicate in quotes: no row has it", text=True),
    Option(
        "constraints",
        None,
        "columns that are never below others: 'end_date >= start_date; paid > sent'",
        text=True,
    ),
    Option(
        "grid",
        None,
        "what values are multiples of: 'pay = 0.01; hours = 5', in days or seconds",
        text=True,
    ),
    Option(
        "patterns",
        None,
        "text that is made up: 'plate = AA-###; …', # a digit, A and a letters",
        text=True,
    ),
    Option("totals", "noised", "of strata: noised, or the weights exactly", ("noised", "weights")),
)
"""Options of every method. `epsilon` is the statement's price, read before any of these."""


def method_of(name: str) -> Method:
    """Returns the synthesizer of that name. Raises Refused, naming those there are."""
    if method := REGISTRY.get(name.lower()):
        return method
    raise Refused(f'there is no synthesizer "{name}"', hint=f"USING {' | '.join(REGISTRY)}")


def options_of(method: Method, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns every option of the method, defaults filled in; `epsilon` is passed over.

    Raises:
        Refused: An option is unknown or its value does not fit.
    """
    options = {option.name: option for option in (*COMMON, *method.options)}
    named = {name.lower(): value for name, value in given.items() if name.lower() != "epsilon"}
    for name in named:
        if name not in options:
            raise Refused(
                f'"{method.name}" has no option "{name}"',
                hint=f"its options are epsilon, {', '.join(options)}",
            )
    return {n: _fitting(o, named[n]) if n in named else o.default for n, o in options.items()}


def _fitting(option: Option, value: Any) -> Any:
    if option.choices:
        if value is None and "null" in option.choices:
            return "null"  # written without quotes
        if isinstance(value, str) and value.lower() in option.choices:
            return value.lower()
        if option.share and _is_number(value) and 0 <= value < 1:
            return float(value)
        or_share = " or a share from 0 to below 1" if option.share else ""
        raise Refused(f"the option {option.name} is one of {', '.join(option.choices)}{or_share}")
    if option.text:
        if isinstance(value, str):
            return value
        raise Refused(f"the option {option.name} is text in quotes")
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not option.least <= value <= option.most:
        raise Refused(
            f"the option {option.name} is a whole number from {option.least} to {option.most}"
        )
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
