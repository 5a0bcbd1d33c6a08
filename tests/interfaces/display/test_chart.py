"""cursor.plot(): what is drawn of a result, and what is refused."""

from dataclasses import replace

import pytest
from support.scripted_session import NOISED, exact

from sqlpriv.errors import DataError
from sqlpriv.interfaces.display import chart

pytest.importorskip("altair")
svg = pytest.importorskip("vl_convert").vegalite_to_svg


def drawn(result, *columns):
    return chart.result_chart(result, columns).to_dict(format="vega-lite")


def test_points_and_whiskers_by_the_keys():
    result = replace(NOISED, summed={"sex": frozenset({2})})
    picture = drawn(result)
    records = picture["data"]["values"]
    assert [record["row"] for record in records] == ["1", "2", "(all)"]
    assert [record["kind"] for record in records] == ["group", "group", "everybody"]
    for record, width in zip(records, NOISED.half_widths["n"], strict=True):
        assert record["high"] - record["value"] == pytest.approx(width)
        assert record["value"] - record["low"] == pytest.approx(width)
    text = svg(picture)
    assert "(all)" in text
    assert "n (± 95 %)" in text
    assert text.count(chart._WHOLE.lower()) + text.count(chart._WHOLE) >= 2  # a point and a whisker


def test_many_numbers_as_keys_are_an_axis():
    result = exact(age=list(range(40)), n=[float(n % 7) for n in range(40)])
    (panel,) = drawn(result, "n")["hconcat"]
    encodings = [layer["encoding"] for layer in panel["layer"]]
    assert encodings[0]["x"]["type"] == "quantitative"
    assert svg(drawn(result, "n"))


@pytest.mark.parametrize(
    ("result", "columns", "words"),
    [
        (exact(a=["x"]), (), "no column of numbers, so nothing"),
        (exact(a=["x"], n=[1.0]), ("a",), "not a"),
        (exact(n=[1.0] * 501), (), "at most 500 rows"),
        (exact(n=[]), (), "no rows"),
    ],
)
def test_what_cannot_be_drawn_is_said(result, columns, words):
    with pytest.raises(DataError, match=words):
        chart.result_chart(result, columns)
