"""CORR, COVAR_*, REGR_*, SKEWNESS, KURTOSIS and others as formulas over means and variances.

With u = x - a and v = y - b, a and b the middles of the public intervals, and ū the mean of u:

    covariance        mean of u v, less ū v̄
    third moment      mean of u³ - 3 ū s² - ū³               (s² the variance)
    fourth moment     mean of u⁴ - 4 ū (mean of u³) + 6 ū² s² + 3 ū⁴

Each mean is a noised sum over a noised count, the variance's parts are the same sums, and the count
is paid once. The kernel adds up what lies within ±2^62: in wide domains u and v are in larger units
(`UNITS`). Half-widths follow from theirs, as of any expression over aggregates. Pairs of which one
is NULL are left out, as in SQL.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlpriv.kernel.terms.contract import Type
from sqlpriv.plan.aggregates.quantile_levels import quantile_of_times
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements import tree as t

SAME_AS = {
    "fsum": "sum",
    "kahan_sum": "sum",
    "sumkahan": "sum",
    "sum_no_overflow": "sum",
    "favg": "avg",
}
"""Aggregates that are another one, under a name of their own."""


def _op(sign: str, *sides: t.Node) -> t.Node:
    node = sides[0]
    for side in sides[1:]:
        node = t.Binary(sign, node, side, node.pos)
    return node


def _call(name: str, *args: t.Node) -> t.FunctionCall:
    return t.FunctionCall(name, args, pos=args[0].pos)


def _number(value: float) -> t.Literal:
    return t.Literal(value, exponent=isinstance(value, float))


def _ratio(top: t.Node, bottom: t.Node) -> t.Node:
    """Returns a quotient, NULL where the divisor is not above 0."""
    positive = _call("nullif", _call("greatest", bottom, _number(0.0)), _number(0.0))
    return _op("/", top, positive)


@dataclass(frozen=True)
class _Pairs:
    """The parts of a formula: aggregates over the rows that it counts.

    Args:
        call: The aggregate's call.
        binder: Tells the middles of intervals, and what may be NULL.
        estimator: The plain estimator of the budget's kind: no mean of a formula is clipped.
    """

    call: t.FunctionCall
    binder: Binder
    estimator: str

    def aggregate(self, name: str, *args: t.Node) -> t.FunctionCall:
        """Returns an aggregate over the rows in which no argument of the call is NULL."""
        nullable = [
            arg for arg in self.call.args if not self.binder.is_present(self.binder.bind(arg))
        ]
        tests = (
            [t.IsNull(arg, True, arg.pos) for arg in nullable] if len(self.call.args) > 1 else []
        )
        kept = self.call.filter
        for test in tests:
            kept = test if kept is None else t.Binary("and", kept, test, test.pos)
        if name == "count" and not args and len(self.call.args) == 1:
            args = self.call.args
        using = self.estimator if name == "avg" else ""
        return t.FunctionCall(name, args, not args, False, kept, using, self.call.pos)

    def count(self) -> t.Node:
        """Returns how many rows the formula counts."""
        return self.aggregate("count")

    def mean(self, node: t.Node) -> t.Node:
        """Returns a mean over these rows."""
        return self.aggregate("avg", node)

    def variance(self, node: t.Node) -> t.Node:
        """Returns a population variance over these rows."""
        return self.aggregate("var_pop", node)

    def divisor(self, node: t.Node) -> t.Node:
        """Returns a population variance to divide by, NULL where noise may be all of it.

        A constant has the variance 0, and its noised one is as small: of 20,000 equal numbers at
        epsilon 1 the skewness was between -834 and 814.
        """
        variance = self.variance(node)
        is_told = t.Binary(">", variance, _call("error", variance), self.call.pos)
        return t.CaseWhen(((is_told, variance),), None, None, self.call.pos)

    def middle(self, node: t.Node) -> t.Literal:
        """Returns the middle of a value's public interval.

        Raises:
            Refused: It has none, or is no number.
        """
        shape = self.binder.shape(node, self.binder.bind(node))
        if shape.lower is None or shape.type not in (Type.INTEGER, Type.REAL):
            raise refuse(
                self.call,
                f"{self.call.name.upper()} needs public bounds of its arguments",
                "clamp them: LEAST(GREATEST(x, low), high)",
            )
        return _number((float(shape.lower) + float(shape.upper)) / 2)

    def deviation(self, node: t.Node) -> t.Node:
        """Returns a value less the middle of its interval."""
        return _op("-", node, self.middle(node))

    def mean_deviation(self, node: t.Node) -> t.Node:
        """Returns the mean of that."""
        return _op("-", self.mean(node), self.middle(node))

    def covariance(self) -> t.Node:
        """Returns the population covariance of the two arguments."""
        y, x = self.call.args
        product = self.mean(_op("*", self.deviation(x), self.deviation(y)))
        return _op("-", product, _op("*", self.mean_deviation(x), self.mean_deviation(y)))

    def moments(self) -> tuple[t.Node, t.Node, t.Node]:
        """Returns the variance, the third and the fourth central moment of the argument."""
        (x,) = self.call.args
        u, variance, mean = self.deviation(x), self.variance(x), self.mean_deviation(x)
        cube = self.mean(_op("*", u, u, u))
        power = self.mean(_call("abs", _op("*", _op("*", u, u), _op("*", u, u))))  # NULL stays
        square = _op("*", mean, mean)
        third = _op("-", cube, _op("*", _number(3.0), mean, variance), _op("*", mean, square))
        fourth = _op(
            "+",
            _op("-", power, _op("*", _number(4.0), mean, cube)),
            _op("*", _number(6.0), square, variance),
            _op("*", _number(3.0), square, square),
        )
        return variance, third, fourth


def at_least_one(ratio: t.Node) -> t.Node:
    """Returns what a ratio is divided by to lie in [-1, 1]: by this `output_half_widths` knows a
    correlation. LEAST and GREATEST alone would make a 1 of NULL."""
    return _call("greatest", _number(1.0), _call("abs", ratio))


def _correlation(pairs: _Pairs) -> t.Node:
    y, x = pairs.call.args
    spread = _call("sqrt", _op("*", pairs.divisor(x), pairs.divisor(y)))
    ratio = _ratio(pairs.covariance(), spread)
    return _op("/", ratio, at_least_one(ratio))


def _slope(pairs: _Pairs) -> t.Node:
    return _ratio(pairs.covariance(), pairs.divisor(pairs.call.args[1]))


def _intercept(pairs: _Pairs) -> t.Node:
    y, x = pairs.call.args
    return _op("-", pairs.mean(y), _op("*", _slope(pairs), pairs.mean(x)))


def _sample_covariance(pairs: _Pairs) -> t.Node:
    less_one = _op("-", pairs.count(), t.Literal(1))
    return _ratio(_op("*", pairs.covariance(), pairs.count()), less_one)


def _skewness(pairs: _Pairs) -> t.Node:
    _, third, _ = pairs.moments()
    n = pairs.count()
    scale = _call("sqrt", _call("greatest", _op("*", n, _op("-", n, t.Literal(1))), t.Literal(0)))
    spread = _call("pow", pairs.divisor(pairs.call.args[0]), _number(1.5))
    return _op("*", _ratio(scale, _op("-", n, t.Literal(2))), _ratio(third, spread))


def _excess(pairs: _Pairs) -> t.Node:
    _, _, fourth = pairs.moments()
    variance = pairs.divisor(pairs.call.args[0])
    return _ratio(fourth, _op("*", variance, variance))


def _kurtosis(pairs: _Pairs) -> t.Node:
    n = pairs.count()
    less = [_op("-", n, t.Literal(k)) for k in (1, 2, 3)]
    inner = _op(
        "-", _op("*", _op("+", n, t.Literal(1)), _excess(pairs)), _op("*", _number(3.0), less[0])
    )
    return _op("*", _ratio(less[0], _op("*", less[1], less[2])), inner)


def _sum_of_squares(pairs: _Pairs, of: t.Node) -> t.Node:
    return _op("*", pairs.count(), of)


FORMULAS: dict[str, tuple[int, Callable[[_Pairs], t.Node]]] = {
    "covar_pop": (2, _Pairs.covariance),
    "covar_samp": (2, _sample_covariance),
    "corr": (2, _correlation),
    "regr_slope": (2, _slope),
    "regr_intercept": (2, _intercept),
    "regr_r2": (2, lambda p: _call("pow", _correlation(p), t.Literal(2))),
    "regr_count": (2, _Pairs.count),
    "regr_avgx": (2, lambda p: p.mean(p.call.args[1])),
    "regr_avgy": (2, lambda p: p.mean(p.call.args[0])),
    "regr_sxx": (2, lambda p: _sum_of_squares(p, p.variance(p.call.args[1]))),
    "regr_syy": (2, lambda p: _sum_of_squares(p, p.variance(p.call.args[0]))),
    "regr_sxy": (2, lambda p: _sum_of_squares(p, p.covariance())),
    "skewness": (1, _skewness),
    "kurtosis": (1, _kurtosis),
    **dict.fromkeys(
        ("geomean", "geometric_mean"),
        (1, lambda p: _call("exp", p.mean(_call("ln", p.call.args[0])))),
    ),
    "kurtosis_pop": (1, lambda p: _op("-", _excess(p), _number(3.0))),
    "sem": (
        1,
        lambda p: _ratio(p.aggregate("stddev_pop", p.call.args[0]), _call("sqrt", p.count())),
    ),
}
"""Name → how many arguments it has, and its formula."""


def unit_of_deviations(width: float, power: int) -> float:
    """Returns what deviations are counted in for their products to have sums: a power of 2, so that
    no digit is lost, and 1 where products of so many lie within ±2^60 as they are.

    >>> unit_of_deviations(1e6, 2), unit_of_deviations(1e10, 2), unit_of_deviations(1e6, 4)
    (1.0, 8.0, 16.0)
    """
    half = max(width / 2, 1.0)
    return 2.0 ** max(0, math.ceil(math.log2(half) - 60 / power))


UNITS: dict[str, tuple[int, tuple[int, ...]]] = {
    "covar_pop": (2, (1, 1)),
    "covar_samp": (2, (1, 1)),
    "corr": (2, (0, 0)),
    "regr_slope": (2, (1, -1)),
    "regr_intercept": (2, (1, 0)),
    "regr_r2": (2, (0, 0)),
    "regr_sxy": (2, (1, 1)),
    "skewness": (3, (0,)),
    "kurtosis": (4, (0,)),
    "kurtosis_pop": (4, (0,)),
}
"""Name → of how many deviations it sums products, and by which power of each argument's unit the
figure grows."""


def _in_larger_units(call: t.FunctionCall, binder: Binder) -> tuple[t.FunctionCall, float]:
    """Returns the call over arguments in larger units, and what its figure is to be multiplied by;
    the call as it is, and 1, where it needs none."""
    power, exponents = UNITS.get(call.name, (1, ()))
    args, factor = list(call.args), 1.0
    for i, exponent in enumerate(exponents):
        shape = binder.shape(args[i], binder.bind(args[i]))
        if shape.lower is None or shape.upper is None:
            continue
        unit = unit_of_deviations(float(shape.upper) - float(shape.lower), power)
        if unit != 1:
            args[i] = _op("*", args[i], _number(1 / unit))
            factor *= unit**exponent
    return replace(call, args=tuple(args)), factor


def formula_of(call: t.FunctionCall, binder: Binder, estimator: str) -> t.Node | None:
    """Returns an aggregate as an expression over others; None where it is none of these.

    Raises:
        Refused: Arguments without public bounds, or a number of them that it does not take.
    """
    if call.name in SAME_AS and call.name not in FORMULAS:
        return replace(call, name=SAME_AS[call.name])
    if call.name == "approx_count_distinct":
        return replace(call, name="count", distinct=True)
    if call.name not in FORMULAS:
        return quantile_of_times(call, binder)
    arity, formula = FORMULAS[call.name]
    if len(call.args) != arity or call.distinct or call.using or call.star:
        parameters = "y, x" if arity == 2 else "x"
        raise refuse(
            call, f"{call.name.upper()} takes {arity} arguments", f"{call.name}({parameters})"
        )
    call, factor = _in_larger_units(call, binder)
    figure = formula(_Pairs(call, binder, estimator))
    return figure if factor == 1 else _op("*", figure, _number(factor))
