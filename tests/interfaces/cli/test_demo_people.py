"""The demo's generator: real group sizes, made-up people, columns that depend on each other."""

import csv
from collections import Counter

import numpy as np
import pytest
from support.places import SHARED

from sqlpriv.interfaces.cli import demo_people

PAPER = SHARED / "reference/ny2018_group_means_sex_rac1p.csv"


@pytest.fixture(scope="module")
def frame():
    return demo_people.generate(20_000).to_pandas()


def test_the_groups_are_those_of_the_paper():
    if not PAPER.exists():
        pytest.skip("the paper's numbers lie in ../shared/reference, which is not here")
    with PAPER.open() as file:
        theirs = {
            (int(row["SEX"]), int(row["RAC1P"])): int(row["count_paper_table3"])
            for row in csv.DictReader(file)
        }
    assert theirs == demo_people.GROUP_SIZES


def test_groups_scale_and_add_up():
    assert demo_people.group_sizes(196_967) == demo_people.GROUP_SIZES
    for rows in (1_000, 12_345, 1_000_000):
        sizes = demo_people.group_sizes(rows)
        assert sum(sizes.values()) == rows
        for group, size in sizes.items():
            assert abs(size - demo_people.GROUP_SIZES[group] * rows / 196_967) < 1


def test_the_table_has_just_these_groups(frame):
    found = Counter(zip(frame["SEX"], frame["RAC1P"], strict=True))
    assert {group: found[group] for group in demo_people.GROUP_SIZES} == demo_people.group_sizes(
        20_000
    )
    assert frame["person_id"].is_unique


def test_rows_are_not_in_the_order_of_the_groups(frame):
    assert abs(np.corrcoef(frame["person_id"], frame["RAC1P"])[0, 1]) < 0.05


def test_values_lie_in_the_domains_that_the_demo_declares(frame):
    for column, low, high in (("AGEP", 0, 95), ("SCHL", 1, 24), ("WKHP", 1, 99)):
        assert frame[column].dropna().between(low, high).all(), column
    assert set(frame["ESR"].dropna()) == {1, 3, 6}
    assert (frame["PINCP"].dropna() > 200_000).mean() < 0.03  # few are clamped


def test_columns_depend_on_each_other_and_on_the_group(frame):
    adults = frame[(frame["AGEP"] > 24) & (frame["ESR"] == 1)]
    assert adults["SCHL"].corr(adults["PINCP"], method="spearman") > 0.3
    mean = adults.groupby("SEX")["PINCP"].mean()
    assert mean[1] > 1.1 * mean[2]
    age = frame.groupby("RAC1P")["AGEP"].mean()
    assert age[1] > age[8] + 5


def test_absence_follows_age_and_work(frame):
    assert (frame["SCHL"].isna() == (frame["AGEP"] < 3)).all()
    assert (frame["ESR"].isna() == (frame["AGEP"] < 16)).all()
    assert (frame["PINCP"].isna() == (frame["AGEP"] < 15)).all()
    assert (frame["WKHP"].isna() == (frame["ESR"] != 1)).all()


def test_the_same_people_every_time():
    assert demo_people.generate(1_000).equals(demo_people.generate(1_000))
    assert not demo_people.generate(1_000).equals(demo_people.generate(1_000, seed=1))
