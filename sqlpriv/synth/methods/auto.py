"""`auto`: the method that is expected to be nearest to the rows, by public facts alone.

ORDER is by accuracy. The first method is taken that the statement is within the limits of: its
number of columns, levels and strata, and a price that can be shared out. Of the six methods that
end within seconds (`python tests/bench/synth.py --all-tables --rows 10000 --epsilons 1 0.1
--methods mst aim independent gaussian privbayes mwem`, one run on each of sixteen tables), `aim`
had the least sum of 2-way error, error of means by stratum and 1 - AUC, each over the least of all
methods, on all sixteen at epsilon = 1. At epsilon = .1, since `aim` measures noisy one-way
marginals once more, that sum was within 1.1 of the least on nine of twelve tables (one run of `aim
hdmm privsyn mst gsd`) and 1.11 to 1.45 times the least on the others. Levels and strata need no
rule here: every method takes its levels from noised histograms (`binning = auto`), and sees for
itself whether strata are modelled apart (`pooling`, `whole_or_strata`). Nothing is charged for the
choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlpriv.errors import DataError, Refused
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.synth.api.ask import Ask
from sqlpriv.synth.api.method import Method, Model, Options, Phase, Space
from sqlpriv.synth.api.size_limits import check_size
from sqlpriv.synth.methods import aim, independent, mst

ORDER = (aim.METHOD, mst.METHOD, independent.METHOD)


def choose_method(space: Space, price: Price) -> Method:
    """Returns the first method of ORDER that takes this; the last one if none does.

    Args:
        space: Levels of columns and strata.
        price: Of the method.
    """
    for method in ORDER[:-1]:
        try:
            check_size(method, space.sizes, space.strata)
            method.phases(space, price, _defaults(method))
        except (Refused, DataError):
            continue
        return method
    return ORDER[-1]


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns what the price is spent on: the chosen method's."""
    method = choose_method(space, price)
    return method.phases(space, price, {**_defaults(method), **options})


def fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Returns the chosen method's models. Spends exactly `price`."""
    method = choose_method(space, price)
    return method.fit(ask, space, price, {**_defaults(method), **options})


def _defaults(method: Method) -> Mapping[str, Any]:
    return {option.name: option.default for option in method.options}


METHOD = Method(
    name="auto",
    title="the first of aim, mst and independent that takes so many columns, levels and strata",
    paper="see aim (2022), mst (2021) and independent",
    options=(),
    max_strata=10_000,
    max_cells=20_000_000,
    arity=1,
    fit=fit,
    phases=phases,
)
