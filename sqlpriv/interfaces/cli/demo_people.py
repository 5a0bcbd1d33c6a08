"""A generated census: people that nobody is, in groups of the sizes of New York's in 2018.

The group sizes are Table 3 of Rosenblatt, Stoyanovich and Musco, "A Simple and Practical Method
for Reducing the Disparate Impact of Differential Privacy", 2024. All else
is drawn from a made-up model whose only aim is that columns depend on each other and on the group,
as they do in a census: there must be something for strata and for synthesis to show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

GROUP_SIZES = {
    (1, 1): 67593,
    (1, 2): 11077,
    (1, 3): 277,
    (1, 4): 2,
    (1, 5): 125,
    (1, 6): 8130,
    (1, 7): 42,
    (1, 8): 5296,
    (1, 9): 2620,
    (2, 1): 70881,
    (2, 2): 12947,
    (2, 3): 231,
    (2, 4): 3,
    (2, 5): 119,
    (2, 6): 8900,
    (2, 7): 30,
    (2, 8): 5668,
    (2, 9): 3026,
}
"""(SEX, RAC1P) → people: 196,967 in all, and two groups of no more than three."""

PEOPLE = sum(GROUP_SIZES.values())

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_AGE = np.array([0, 1.30, 1.10, 0.95, 1.00, 0.90, 1.05, 0.90, 0.75, 0.60])
_SCHOOLING = np.array([0, 0.15, -0.25, -0.40, -0.30, -0.30, 0.30, -0.20, -0.60, 0.10])
"""By RAC1P: how old a group is, and how far its schooling lies from the middle (made up)."""

_LEVELS = np.array([11, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24])
_CUTS = np.array([-1.65, -1.2, -0.45, -0.3, -0.1, 0.3, 0.5, 1.15, 1.75, 2.05])
"""SCHL of adults: where a standard normal score falls between the cuts."""


@dataclass(frozen=True)
class _Person:
    """Columns under way, each of n values."""

    sex: Ints
    race: Ints
    age: Ints
    score: Floats


def group_sizes(rows: int) -> dict[tuple[int, int], int]:
    """Returns Table 3 scaled to `rows` people in all, by largest remainders."""
    exact = {group: size * rows / PEOPLE for group, size in GROUP_SIZES.items()}
    sizes = {group: int(share) for group, share in exact.items()}
    by_remainder = sorted(exact, key=lambda group: sizes[group] - exact[group])
    for group in by_remainder[: rows - sum(sizes.values())]:
        sizes[group] += 1
    return sizes


def generate(rows: int = PEOPLE, seed: int = 2018) -> pa.Table:
    """Returns a table of generated people, in random order.

    Columns (Census names and codes): person_id, SEX, RAC1P, AGEP (years), SCHL (schooling; NULL
    under 3), ESR (1 employed, 3 looking for work, 6 neither; NULL under 16), WKHP (hours a week;
    NULL without work), PINCP (dollars a year; NULL under 15).

    Args:
        rows: How many people.
        seed: Of the generator of the data. It is no noise seed: noise has none.
    """
    rng = np.random.default_rng(seed)
    person = _people(rows, rng)
    schooling, has_schooling = _schooling(person)
    works, looks = _work(person, rng)
    hours = _hours(person, rng)
    income = _income(person, works, hours, rng)
    status = np.where(works, 1, np.where(looks, 3, 6))
    return pa.table(
        {
            "person_id": pa.array(np.arange(1, rows + 1), pa.int64()),
            "SEX": _column(person.sex),
            "RAC1P": _column(person.race),
            "AGEP": _column(person.age),
            "SCHL": _column(schooling, has_schooling),
            "ESR": _column(status, person.age >= 16),
            "WKHP": _column(hours, works),
            "PINCP": _column(income, person.age >= 15),
        }
    )


def _people(rows: int, rng: np.random.Generator) -> _Person:
    groups = group_sizes(rows)
    keys = np.repeat(np.array(list(groups)), list(groups.values()), axis=0)
    keys = keys[rng.permutation(rows)]
    sex, race = keys[:, 0], keys[:, 1]
    # Women live longer: their ages are drawn a little higher.
    age = np.floor(96 * rng.beta(_AGE[race] * np.where(sex == 2, 1.06, 1.0), 1.45)).astype(int)
    score = _SCHOOLING[race] + rng.standard_normal(rows) - 0.35 * (age > 65)
    return _Person(sex, race, np.clip(age, 0, 95), score)


def _schooling(person: _Person) -> tuple[Ints, Bools]:
    """Children are in the grade of their age; adults have what their score came to."""
    grade = np.clip(person.age - 1, 1, 14)
    reached = _LEVELS[np.searchsorted(_CUTS, person.score)]
    young = np.minimum(reached, np.clip(person.age - 1, 14, 24))  # no master's degree at 18
    return np.where(person.age < 18, grade, young), person.age >= 3


def _work(person: _Person, rng: np.random.Generator) -> tuple[Bools, Bools]:
    """Who works, and who of the others looks for work: by age, schooling and sex."""
    age = person.age
    pull = 1.1 + 0.55 * person.score - 0.45 * (person.sex == 2) - 2.2 * (age < 20)
    pull = pull - 0.16 * np.maximum(0, age - 58)
    works = (rng.random(len(age)) < 1 / (1 + np.exp(-pull))) & (age >= 16)
    looks = ~works & (rng.random(len(age)) < 0.16) & (age < 66)
    return works, looks


def _hours(person: _Person, rng: np.random.Generator) -> Ints:
    middle = 38.5 - 3.5 * (person.sex == 2) - 12 * (person.age < 21) - 8 * (person.age > 68)
    drawn = middle + 10 * rng.standard_normal(len(person.age)) + 1.5 * person.score
    full_time = (np.abs(drawn - 40) < 4) & (rng.random(len(drawn)) < 0.8)
    return np.clip(np.where(full_time, 40, np.rint(drawn)), 1, 99).astype(int)


def _income(person: _Person, works: Bools, hours: Ints, rng: np.random.Generator) -> Ints:
    """Earnings by schooling, experience, hours and sex; pensions; and for the rest little."""
    chance = rng.standard_normal(len(works))
    experience = np.clip(person.age - 20, 0, 35)
    log_wage = 10.05 + 0.38 * person.score + 0.028 * experience - 0.12 * (person.sex == 2)
    earned = np.exp(log_wage + np.log(hours / 40) + 0.55 * chance)
    pension = np.exp(9.75 + 0.35 * person.score + 0.6 * chance) * (person.age >= 62)
    other = np.maximum(0, 3500 * chance) * (person.age >= 18)
    income = np.where(works, earned, pension + other)
    rounded: Ints = (np.rint(np.clip(income, 0, 1_423_000) / 10) * 10).astype(int)
    return rounded


def _column(values: Ints, present: Bools | None = None) -> pa.Array[Any]:
    mask = None if present is None else ~present
    return pa.array(values, pa.int32(), mask=mask)
