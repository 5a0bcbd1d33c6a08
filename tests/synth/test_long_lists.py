"""A list of hundreds of values keeps what it has to do with other columns."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.synth_tables import contract

from sqlpriv.kernel.terms.budget import Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories, Interval
from sqlpriv.synth.explained_steps import steps
from sqlpriv.synth.long_lists import group_values
from sqlpriv.synth.synthesis import prepare, synthesize

COUNT, AREAS = 600, 6
CODES = tuple(f"k{i:03}" for i in range(COUNT))
TABLE = contract(
    {
        "code": ("VARCHAR", Categories((*CODES, None))),
        "area": ("INTEGER", Interval(0, AREAS - 1)),
        "sex": ("INTEGER", Categories((0, 1))),
    }
)


def people(rows: int) -> dict[str, list]:
    """Codes of one hundred are of one area, in nine of ten rows; a third of all have one code."""
    rng = np.random.default_rng(0)
    number = np.where(rng.random(rows) < 0.3, 250, rng.integers(0, COUNT, rows))
    area = np.where(rng.random(rows) < 0.9, number * AREAS // COUNT, rng.integers(0, AREAS, rows))
    return {
        "code": [CODES[i] for i in number],
        "area": area.tolist(),
        "sex": rng.integers(0, 2, rows).tolist(),
    }


def made(method: str, price: Rho, **options: object):
    job = prepare(TABLE, ("code", "area", "sex"), (), None, method, options, price)
    gate = FakeGate(people(6_000), TABLE, price)
    return job, gate, synthesize(job, gate)


@pytest.mark.parametrize("method", ["aim", "mst", "mwem", "privbayes", "independent"])
def test_neighbours_in_a_long_list_keep_their_area(method):
    """Nine of ten and a sixth of the tenth are .917; `independent` is the twin that fails."""
    _, _, out = made(method, rho_of(1.0, 1e-9))
    pairs = zip(out.table["code"].to_pylist(), out.table["area"].to_pylist(), strict=True)
    held = [int(code[1:]) * AREAS // COUNT == area for code, area in pairs if code is not None]
    assert (np.mean(held) > 0.7) == (method != "independent")
    common = out.table["code"].to_pylist().count("k250") / out.table.num_rows
    assert common == pytest.approx(0.3, abs=0.05)
    assert any("values of code are known by themselves" in n for n in out.notes) == (
        method != "independent"
    )


def test_counting_the_list_is_a_step_of_the_price():
    job, gate, _ = made("aim", Rho(10**9 + 7))
    told = steps(job)
    assert gate.spent == sum(step.price.nano for step in told) == 10**9 + 7
    assert [s.name for s in told].count("values of the list: code") == 1
    assert {s.measurement for s in told if s.measurement is not None} <= set(gate.asked)


def test_values_of_many_rows_are_alone_and_the_others_are_runs():
    counts = np.full(500, 4.0)
    counts[[3, 77]] = 2_000.0
    group = group_values(counts, 10.0)
    assert (group == group[3]).sum() == (group == group[77]).sum() == 1
    others = np.delete(group, [3, 77])
    assert (np.diff(others) >= 0).all()
    assert 2 < len(set(others.tolist())) <= 64


def test_what_is_lost_inside_groups_is_in_the_quality_line():
    """A code and its number follow each other, but most codes are in groups: the error of two
    columns is .93 by values and .02 by groups of them, which is what the line said before."""
    number = np.random.default_rng(0).integers(0, COUNT, 6_000)
    table = contract(
        {
            "code": ("VARCHAR", Categories(CODES)),
            "mirror": ("INTEGER", Categories(tuple(range(COUNT)))),
        }
    )
    people = {"code": [CODES[i] for i in number], "mirror": number.tolist()}
    price = rho_of(10.0, 1e-9)
    job = prepare(table, ("code", "mirror"), (), None, "mst", {}, price)
    out = synthesize(job, FakeGate(people, table, price))
    real = np.zeros((COUNT, COUNT))
    np.add.at(real, (number, number), 1 / 6_000)
    drawn = np.zeros((COUNT, COUNT))
    codes = [CODES.index(code) for code in out.table["code"].to_pylist()]
    np.add.at(drawn, (codes, out.table["mirror"].to_pylist()), 1 / out.table.num_rows)
    (line,) = [note for note in out.notes if note.startswith("quality: ")]
    (told,) = re.findall(r"of 2 columns ([\d.]+)", line)
    assert float(told) == pytest.approx(np.abs(real - drawn).sum() / 2, rel=0.1)
    assert float(told) > 0.5
