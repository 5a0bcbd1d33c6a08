"""What stands under an answer: which quantile, what ± does not cover, rows of no group."""

from __future__ import annotations

import dataclasses
import re

import pytest
from support.exact_people import BUDGET, PEOPLE, engine, planned, rows

from sqlpriv.kernel.terms.budget import NANO, Budget, Epsilon
from sqlpriv.kernel.terms.contract import PrivacyUnit, TableContract
from sqlpriv.plan.notices import BY_ZERO, NULL_RULES, null_rule, plan_notices

ASK = "SELECT WITH DIFFERENTIAL_PRIVACY {} FROM people"
KEYED = dataclasses.replace(PEOPLE, unique=frozenset({"id"}))
OFTEN = dataclasses.replace(PEOPLE, unit=PrivacyUnit("people", "id", 5, 2))


def notices(outputs: str, contract: TableContract = KEYED, rest: str = "") -> str:
    """Returns the notices of a statement about the people, as one text."""
    return "; ".join(plan_notices(planned(ASK.format(outputs) + rest, contract=contract), contract))


def test_min_and_max_say_which_quantile_they_are() -> None:
    text = notices("MIN(age) AS least, MAX(born) AS last")
    assert "least is the 1 % quantile" in text
    assert "begins at 0" in text
    assert "last is the 99 % quantile" in text
    assert "ends at 2019-12-31" in text
    assert "% quantile" not in notices("MEDIAN(age) AS m")


def test_a_chosen_quantile_tells_its_rank_error_and_how_to_get_a_half_width() -> None:
    assert "in 95 % of groups m by at most" in notices("MEDIAN(age) AS m")
    assert "rows of rank" not in notices("MEDIAN(age) AS m, ERROR(MEDIAN(age)) AS e")


def test_a_mode_tells_how_many_rows_it_may_have_less() -> None:
    """Of a unit's rows in each of four strata a pure price pays four times, rho twice."""
    text = notices("MODE(sex) AS m")
    assert re.search(r"fewer rows than the most frequent value, .* m by at most [\d,]+$", text), (
        text
    )
    assert "most frequent" not in notices("MEDIAN(age) AS m")
    pure = Budget("people", Epsilon(10 * NANO), 0.0)
    for budget, factor in ((pure, 4), (BUDGET, 2)):
        fewer = []
        for groups in (1, 4):
            contract = dataclasses.replace(PEOPLE, unit=PrivacyUnit("people", "id", 1, groups))
            sql = ASK.format("MODE(sex) AS m") + " STRATIFY BY race, employed"
            text = " ".join(plan_notices(planned(sql, budget, contract), contract))
            fewer.append(int(re.findall(r"m by at most ([\d,]+)", text)[0].replace(",", "")))
        assert fewer[1] == pytest.approx(factor * fewer[0], abs=factor)


def test_the_half_width_says_what_it_does_not_cover() -> None:
    assert notices("COUNT(*) AS n") == ""
    assert "± does not cover values outside [0, 1000] in a" in notices("AVG(income) AS a")
    of_two = notices("AVG(income) AS a, STDDEV(income) AS s")
    assert "± does not cover values outside [0, 1000] in a and s" in of_two
    of_formula = notices("KURTOSIS(income) AS k")
    assert "± does not cover values outside their columns' domains in k" in of_formula
    text = notices("COUNT(*) AS n", OFTEN)
    assert "± does not cover rows of a unit beyond 5 in people" in text
    price = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_rows_contributed = 2)"
    plan = planned(f"{price} COUNT(*) AS n FROM people", contract=OFTEN)
    assert "rows of a unit beyond 2 in people" in "; ".join(plan_notices(plan, OFTEN))
    by_sex = " STRATIFY BY sex"
    assert "a unit beyond 5 in each of 2 strata" in notices("COUNT(*) AS n", OFTEN, by_sex)
    once = dataclasses.replace(PEOPLE, unit=PrivacyUnit("people", "id", 1, 1))
    assert "a unit beyond 1 in people" in notices("COUNT(*) AS n", once, by_sex)


def test_counts_inside_a_unit_say_where_they_stop() -> None:
    inside = "SELECT id, COUNT(*) AS n, MAX(age) AS a FROM people GROUP BY id"
    sql = f"SELECT WITH DIFFERENTIAL_PRIVACY {{}} FROM ({inside}) AS u"
    for contract, stops in ((OFTEN, True), (KEYED, False)):
        plan = planned(sql.format("n, COUNT(*) AS units") + " GROUP BY n", contract=contract)
        text = "; ".join(plan_notices(plan, contract))
        assert ("what a unit has beyond 10 rows in COUNT and SUM inside it" in text) == stops


def test_quantiles_of_one_output_tell_one_span_of_rank_errors() -> None:
    text = notices("MEDIAN(income) AS m, QUANTILE_CONT(income, [0.25, 0.5]) AS q")
    assert re.search(r"m by at most [\d,]+ and q by at most [\d,]+ to [\d,]+;", text), text


def test_a_join_that_can_multiply_rows_is_named() -> None:
    joined = planned(
        "SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) AS n FROM people p JOIN people q ON p.id = q.id",
        contract=OFTEN,
    )
    assert "in the join of people and people" in "; ".join(plan_notices(joined, OFTEN))
    looked_up = planned(
        "SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) AS n FROM people WHERE id IN "
        "(SELECT id FROM people q WHERE q.age > 3)",
        contract=OFTEN,
    )
    assert "beyond 5 in people" in "; ".join(plan_notices(looked_up, OFTEN))


def test_rows_of_no_group_are_named() -> None:
    text = notices("COUNT(*) AS n", KEYED, " GROUP BY ROLLUP (hours, sex)")
    assert "hours" not in text  # NULL is one of its levels
    few = dataclasses.replace(
        KEYED, columns=tuple(dataclasses.replace(c, required=False) for c in KEYED.columns)
    )
    text = notices("COUNT(*) AS n", few, " GROUP BY ROLLUP (sex)")
    assert "rows whose sex is NULL or not declared are in no group; totals" in text


def test_keys_are_called_as_the_answer_calls_them() -> None:
    """It said `(floor((agep / 10)) * 10)` of a column decade, and `a and b is not declared`."""
    columns = tuple(dataclasses.replace(c, required=False) for c in KEYED.columns)
    contract = dataclasses.replace(KEYED, columns=columns)
    text = notices('sex AS "Sex", age // 10 AS tens, COUNT(*)', contract, " GROUP BY ALL")
    assert "rows whose Sex or tens is NULL or not declared are in no group" in text


def test_a_quotient_by_zero_says_what_becomes_of_it() -> None:
    assert BY_ZERO in notices("SUM(1 / (age - 30))")
    assert BY_ZERO in notices("1 / (age - 30) AS k, COUNT(*)", rest=" GROUP BY k")
    assert BY_ZERO not in notices("SUM(1 / (age + 1))")
    assert BY_ZERO not in notices("SUM(1 / nullif(age - 30, 0))")
    assert BY_ZERO not in notices("COUNT(1 / (age - 30))")  # which counts it, as DuckDB does


@pytest.mark.usefixtures("narrow_means_are_plain")
def test_null_is_explained_where_it_stands() -> None:
    assert null_rule(planned(ASK.format("COUNT(*)")).output) == ()
    assert null_rule(planned(ASK.format("SUM(debt)")).output) == (NULL_RULES["sum"],)
    assert null_rule(planned(ASK.format("STDDEV(debt)")).output) == (NULL_RULES["mean"],)
    assert null_rule(planned(ASK.format("MEDIAN(age)")).output) == (NULL_RULES["level"],)
    people = engine()
    some = rows(people, ASK.format("AVG(income) AS a") + " WHERE age < 50 GROUP BY sex")
    assert not {*NULL_RULES.values()} & {*some.notes}
    none = rows(people, ASK.format("SUM(debt) AS s") + " WHERE age < 0 GROUP BY sex")
    assert none.table.column("s").to_pylist() == [None, None]  # symmetric around 0: as DuckDB's
    assert NULL_RULES["sum"] in none.notes
