"""An allowance over a table of numpy columns, with the kernel's prices and none of its machinery.

It knows each row's value in each column, evaluates the few expressions that synthesizers use, adds
rounded Gaussian (or Laplace) noise and counts what it is paid, to the nano.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import operator
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sqlpriv.errors import BudgetExhausted
from sqlpriv.kernel.proof.noise import threshold_of
from sqlpriv.kernel.proof.sensitivity import Candidate, check_candidates, joint_price
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.contract import PrivacyUnit, TableContract
from sqlpriv.kernel.terms.release import Measurement, Release

EPOCH, MICROSECOND = dt.datetime(1970, 1, 1), dt.timedelta(microseconds=1)
BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    ">=": operator.ge,
    "=": operator.eq,
    "/": operator.truediv,
    "%": math.fmod,
}
UNARY = {
    "abs": abs,
    "round": round,
    "micros": lambda moment: (moment - EPOCH) // MICROSECOND,
}

IDS = itertools.count(1)
"""Of releases: no two have the same, of whichever gate, as in a ledger."""
_Values = dict[a.Expr, list[Any]]
_RECENT: list[tuple[Mapping[str, Sequence[Any]], _Values]] = []


def _values_of(columns: Mapping[str, Sequence[Any]]) -> _Values:
    """The values of expressions over these very columns, shared by all gates over them."""
    for known, values in _RECENT:
        if known is columns:
            return values
    _RECENT[:] = [*_RECENT[-3:], (columns, {})]
    return _RECENT[-1][1]


@dataclass
class FakeGate:
    """See the module. `exact=True` leaves the noise out: a test's own engine may.

    `earlier` holds releases of earlier statements: like the kernel's gate, this one repeats the
    release of a query that was sold at this price or a higher one, and charges nothing for it.
    `sold` holds what this gate has released, by query: what a later gate takes for `earlier`.
    """

    columns: Mapping[str, Sequence[Any]]
    contract: TableContract
    limit: Price
    exact: bool = False
    seed: int = 0
    spent: int = 0
    earlier: Mapping[a.Query, Release] = field(default_factory=dict)
    sold: dict[a.Query, Release] = field(default_factory=dict)
    asked: list[Measurement] = field(default_factory=list)
    choices: list[tuple[int, ...]] = field(default_factory=list)
    chosen_queries: list[tuple[a.Query, ...]] = field(default_factory=list)
    _levels: dict[a.Key, np.ndarray] = field(default_factory=dict)
    _losses: dict[object, list[int]] = field(default_factory=dict)
    _inside: dict[a.Relation, np.ndarray] = field(default_factory=dict)
    _counted: dict[object, tuple[object, np.ndarray]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.unit = self.contract.unit or PrivacyUnit("people", "id")
        self._values = _values_of(self.columns)

    @property
    def tables(self) -> list[Measurement]:
        """What was asked, but for the number of all rows, which is of the table's error."""
        asked = [m for m in self.asked if m.query.keys or m.query.strata]
        return [m for m in asked if not _counts_all_rows(m.query)]

    @property
    def left(self) -> Price:
        return type(self.limit)(self.limit.nano - self.spent)

    def release(self, measurements: Sequence[Measurement]) -> tuple[Release, ...]:
        new = [m for m in measurements if self._sealed_release(m) is None]
        if new:
            self._charge(new)
        self.asked.extend(measurements)
        return tuple(self._sealed_release(m) or self._noised(m) for m in measurements)

    def _sealed_release(self, measurement: Measurement) -> Release | None:
        """The earlier release of this query, if it was at least as dear."""
        release = self.earlier.get(measurement.query)
        dear = release is not None and release.price.nano >= measurement.price.nano
        return release if dear else None

    def choose(
        self, candidates: Sequence[Candidate], price: Price, allowed: np.ndarray
    ) -> tuple[int, ...]:
        check_candidates(candidates, allowed)
        self._charge([Measurement(candidates[0].query, price)])
        epsilon = math.sqrt(8 * price.value) if isinstance(price, Rho) else price.value
        counts = [self._counts(c.query) for c in candidates]
        apart = [
            c.weight * (np.abs(n - c.estimate).reshape(len(n), -1).sum(axis=1) - _penalty(c))
            for n, c in zip(counts, candidates, strict=True)
        ]
        noise = np.zeros(1) if self.exact else self.rng.gumbel(size=allowed.shape)
        most = max(c.weight for c in candidates)
        scores = np.where(allowed, np.array(apart).T * epsilon / (2 * most) + noise, -np.inf)
        self.choices.append(tuple(int(i) for i in scores.argmax(axis=1)))
        self.chosen_queries.append(tuple(candidates[i].query for i in self.choices[-1]))
        return self.choices[-1]

    def measure_distance(
        self, candidates: Sequence[Candidate], price: Price
    ) -> tuple[np.ndarray, float]:
        """The noised sum of the candidates' scores in each stratum, and its noise."""
        everywhere = np.ones((len(candidates[0].estimate), len(candidates)), dtype=bool)
        check_candidates(candidates, everywhere)
        self._charge([Measurement(candidates[0].query, price)])
        far = sum(c.weight for c in candidates)
        pure = not isinstance(price, Rho)
        sigma = far * (math.sqrt(2) / price.value if pure else 1 / math.sqrt(2 * price.value))
        if self.exact:
            sigma = 1e-6
        sums = np.zeros(len(everywhere))
        for c in candidates:
            apart = np.abs(self._counts(c.query) - c.estimate).reshape(len(sums), -1).sum(axis=1)
            sums += c.weight * (apart - _penalty(c))
        return sums + self.rng.normal(0, sigma, len(sums)), sigma

    def select_keys(
        self, source: a.Relation, exprs: tuple[a.Expr, ...], price: Rho, yocto: int
    ) -> tuple[tuple[Any, ...], ...]:
        """The kernel's threshold on the number of units of each combination, less one; a row is a
        unit."""
        self._charge([Measurement(a.Count(source), price)])
        inside = self._rows(source)
        rows = list(zip(*(self._value(e) for e in exprs), strict=True)) if exprs else []
        found = Counter(row for row, there in zip(rows, inside, strict=True) if there)
        counts = {row: n - 1 for row, n in found.items() if n > 1}
        scale, least = threshold_of(self.unit.rows_per_unit, price, yocto)
        noise = np.zeros(len(counts)) if self.exact else self.rng.normal(0, scale, len(counts))
        passed = [row for (row, n), z in zip(counts.items(), noise, strict=True) if n + z >= least]
        return tuple(sorted(passed, key=lambda v: [(x is None, x) for x in v]))

    def _charge(self, asked: Sequence[Measurement]) -> None:
        joint, self._losses = joint_price(asked, self.contract, self._losses)
        if joint.nano > self.limit.nano:
            raise BudgetExhausted("the fake gate is asked for more than its limit")
        self.spent = joint.nano

    def _noised(self, measurement: Measurement) -> Release:
        query, price = measurement.query, measurement.price
        counts = self._sums(query) if isinstance(query, a.Sum) else self._counts(query)
        reach = (query.upper - query.lower) / 2 if isinstance(query, a.Sum) else 1.0
        pure = not isinstance(price, Rho)
        sigma = math.sqrt(2) / price.value if pure else 1 / math.sqrt(2 * price.value)
        sigma *= reach
        if self.exact:
            sigma, noise = 1e-6, np.zeros(counts.shape)
        elif pure:
            noise = self.rng.laplace(0, reach / price.value, counts.shape)
        else:
            noise = self.rng.normal(0, sigma, counts.shape)
        noise = noise if isinstance(query, a.Sum) else np.rint(noise)
        release = Release(next(IDS), query, counts + noise, sigma, price)
        if query not in self.sold or self.sold[query].price.nano < price.nano:
            self.sold[query] = release
        return release

    def _sums(self, query: a.Sum) -> np.ndarray:
        middle = (query.lower + query.upper) / 2
        added = np.array([middle if v is None else v for v in self._value(query.of)])
        clamped = np.clip(added, query.lower, query.upper) - middle
        return self._added(a.Count(query.source, query.strata, query.keys), clamped)

    def _counts(self, query: a.Count) -> np.ndarray:
        """The exact counts, kept: candidates are asked in every round. A query is known again by
        its parts, which its column's marginals share; to hash all values took longer than to count.
        """
        parts = (query.source, *query.strata, *query.keys)
        asked = (*map(id, parts), len(query.strata), query.within)
        if asked not in self._counted:
            self._counted[asked] = parts, self._added(query)  # the parts live, and keep their ids
        return self._counted[asked][1]

    def _added(self, query: a.Count, weights: np.ndarray | None = None) -> np.ndarray:
        """The number of rows, or the sum of their weights, in each cell of measured strata."""
        dims = (*query.strata, *query.keys)
        shape = tuple(len(key.values) for key in dims)
        inside = self._rows(query.source)
        codes = [self._codes(key) for key in dims]
        for code in codes:
            inside = inside & (code >= 0)
        flat = (
            np.ravel_multi_index([c[inside] for c in codes], shape) if dims else inside[inside] * 0
        )
        added = None if weights is None else weights[inside]
        counts = np.bincount(flat, added, minlength=math.prod(shape)).astype(np.float64)
        dense = counts.reshape(a.strata_count(query), *(len(key.values) for key in query.keys))
        return dense[list(a.measured_strata(query))]

    def _rows(self, relation: a.Relation) -> np.ndarray:
        if relation not in self._inside:
            self._inside[relation] = self._kept(relation)
        return self._inside[relation]

    def _kept(self, relation: a.Relation) -> np.ndarray:
        if isinstance(relation, a.Scan):
            return np.ones(len(next(iter(self.columns.values()))), dtype=bool)
        assert isinstance(relation, a.Where)
        return self._rows(relation.source) & np.array(self._value(relation.predicate), dtype=bool)

    def _codes(self, key: a.Key) -> np.ndarray:
        if key not in self._levels:
            number = {value: i for i, value in enumerate(key.values)}
            values = self._value(key.expr)
            domain = self.contract.column(getattr(key.expr, "name", ""))
            if domain is not None and hasattr(domain.domain, "lower"):
                low, high = domain.domain.lower, domain.domain.upper
                values = [None if v is None else min(max(v, low), high) for v in values]
            self._levels[key] = np.array([number.get(v, -1) for v in values], dtype=np.int64)
        return self._levels[key]

    def _value(self, expr: a.Expr) -> list[Any]:
        """One value for each row; nobody changes the list."""
        if isinstance(expr, a.Bin | a.Pick):  # each is asked once, and has a long hash
            return self._computed(expr)
        if expr not in self._values:
            self._values[expr] = self._computed(expr)
        return self._values[expr]

    def _computed(self, expr: a.Expr) -> list[Any]:
        match expr:
            case a.Col(name):
                return list(self.columns[name])
            case a.Bin(arg, edges):
                return _bins(self._value(arg), edges)
            case a.In(arg, values):
                listed = frozenset(values)
                return [None if v is None else v in listed for v in self._value(arg)]
            case a.Call("is null", (arg,)):
                return [v is None for v in self._value(arg)]
            case a.Call("not", (arg,)):
                return [None if v is None else not v for v in self._value(arg)]
            case a.Call("and", args):
                return [all(vs) for vs in zip(*map(self._value, args), strict=True)]
            case a.Call("or", args):
                return [any(vs) for vs in zip(*map(self._value, args), strict=True)]
            case a.Lit(value):
                return [value] * len(next(iter(self.columns.values())))
            case a.Case(whens, otherwise):
                tests = [(self._value(p), self._value(e)) for p, e in whens]
                found = self._value(otherwise)
                for test, then in reversed(tests):
                    found = [t if p else f for p, t, f in zip(test, then, found, strict=True)]
                return found
            case a.Pick((key,), numbers):
                places = {value: i for i, value in enumerate(key.values)}
                at = [places.get(v) for v in self._value(key.expr)]
                return [None if i is None else numbers[i] for i in at]
            case a.Call("integer", (arg,)):
                return self._value(arg)
            case a.Call("coalesce", args):
                columns = zip(*map(self._value, args), strict=True)
                return [next((v for v in row if v is not None), None) for row in columns]
            case a.Call(op, (left, right)) if op in BINARY:
                pairs = zip(self._value(left), self._value(right), strict=True)
                return [None if None in pair else BINARY[op](*pair) for pair in pairs]
            case a.Call(op, (arg,)) if op in UNARY:
                return [None if v is None else UNARY[op](v) for v in self._value(arg)]
        raise AssertionError(f"the fake gate has no {type(expr).__name__}")


def _counts_all_rows(query: a.Query) -> bool:
    """Whether it counts rows with numbers beyond declared ends, and the others."""
    return [(type(key.expr), key.values) for key in query.keys] == [(a.Case, (0, 1))]


def _bins(values: list[Any], edges: Sequence[Any]) -> list[Any]:
    """How many of the edges, which ascend, each value has reached; NaN none, as in the kernel."""
    if not all(isinstance(edge, int | float) for edge in edges):
        return [None if v is None else bisect_right(edges, v) for v in values]
    numbers = np.array([-math.inf if v is None or v != v else v for v in values])
    bins = np.searchsorted(np.array(edges), numbers, side="right").tolist()
    return [None if v is None else b for v, b in zip(values, bins, strict=True)]


def _penalty(candidate: Candidate) -> np.ndarray:
    return np.zeros(1) if candidate.penalty is None else candidate.penalty
