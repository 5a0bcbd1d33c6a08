"""The forms of a result: a table for people, csv, json and parquet for programs."""

import csv
import datetime
import io
import json
import re
import time
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from support.scripted_session import NOISED, done, exact

from sqlpriv.errors import Refused
from sqlpriv.interfaces.display import formats, html, table
from sqlpriv.interfaces.display.error_caret import explain_error
from sqlpriv.interfaces.display.footnote import cost, footnote
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.plan.explanation.explain import SCHEMA
from sqlpriv.session.session import Result


def printed(result, limit=None):
    out = io.StringIO()
    table.print_table(result, table.console_for(out), limit)
    return out.getvalue()


def test_half_widths_stand_beside_values():
    lines = printed(NOISED).splitlines()
    assert lines[0].split() == ["sex", "n", "±"]
    assert [line.split() for line in lines[2:5]] == [
        ["1", "102.4", "±3.3"],
        ["2", "98.6", "±3.3"],
        ["NULL", "201.0", "±4.5"],
    ]


def test_people_read_all_where_programs_read_null():
    summed = replace(NOISED, summed={"sex": frozenset({2})})
    assert printed(summed).splitlines()[4].split() == ["(all)", "201.0", "±4.5"]
    markdown, plain = io.StringIO(), io.StringIO()
    formats.write_text(summed, "markdown", markdown)
    formats.write_text(summed, "csv", plain)
    assert "| (all) | 201.0 ±4.5 |" in markdown.getvalue()
    assert "<td" in html.cursor_html(summed)
    assert ">(all)</td>" in html.cursor_html(summed)
    assert plain.getvalue().splitlines()[3].startswith(",201")


def test_a_pipe_gets_no_colour_no_wrapping_and_no_cut():
    wide = exact(**{f"column_{n}": ["x" * 40] for n in range(30)}, sql=["x" * 2_000])
    text = printed(wide)
    assert "\x1b" not in text
    assert len(text.splitlines()[2]) > 30 * 40 + 2_000
    assert "…" not in text


def test_a_table_cuts_long_text_and_never_a_number():
    long = exact(text=["x" * 200, "a\nb"], number=[123456789012, 2])
    out = io.StringIO()
    narrow = Console(file=out, width=30, force_terminal=True, no_color=True)
    table.print_table(long, narrow)
    assert "123456789012" in out.getvalue()
    assert "xx…" in out.getvalue()
    assert "a\\nb" in out.getvalue()
    wide = Console(file=out, width=400, force_terminal=True, no_color=True)
    table.print_table(long, wide)
    assert f"{'x' * 79}…" in out.getvalue()


def test_a_narrow_terminal_is_told_which_columns_it_does_not_show():
    out = io.StringIO()
    narrow = Console(file=out, width=30, force_terminal=True, no_color=True)
    table.print_table(exact(**{f"n{i}": [123456789012] for i in range(4)}), narrow)
    assert out.getvalue().count("123456789012") == 2
    assert "too narrow to show n2, n3" in " ".join(out.getvalue().split())


def shown_lines(result, width):
    """Returns the lines of a table on a terminal."""
    out = io.StringIO()
    table.print_table(result, Console(file=out, width=width, force_terminal=True, no_color=True))
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()


def test_text_that_stands_alone_has_the_whole_width():
    """SHOW PRIVACY DECLARATIONS is there to be copied."""
    assert shown_lines(exact(declaration=["x" * 95]), 100)[2] == "x" * 95


def test_a_moment_is_not_cut_and_columns_without_values_go_first():
    moment = datetime.datetime(2026, 11, 26, 14, 43)
    result = exact(at=[moment], nothing=[None], statement=["x" * 70], n=[7])
    head, _, row, *_ = shown_lines(result, 40)
    assert head.split() == ["at", "statement", "n"]
    assert row.split() == ["2026-11-26", "14:43:00", "x" * 15 + "…", "7"]
    assert shown_lines(result, 120)[0].split() == ["at", "nothing", "statement", "n"]


def test_explain_shows_first_what_an_asker_looks_for():
    explained = exact(**{name: [None if name == "sql" else 1] for name in SCHEMA.names})
    assert printed(explained).splitlines()[0].split() == list(table.EXPLAIN_COLUMNS)


def test_a_limit_shows_the_first_rows_and_says_so():
    result = exact(a=list(range(10)))
    assert len(printed(result, 3).splitlines()) == len(printed(result).splitlines()) - 7
    assert footnote(result, 3) == "10 rows · the first 3 shown · exact: not protected"


def test_names_and_values_are_not_markup():
    assert "[red]a[/red]" in printed(exact(**{"[red]a[/red]": ["[bold]b"]}))


def test_footnotes_tell_the_cost():
    assert footnote(NOISED) == "3 rows · ± 95 % · ε 0.5 spent"
    replayed = Result(
        table=NOISED.table, message="", half_widths={}, price=Rho(0), epsilon=0.0, exact=False
    )
    assert cost(replayed) == "answered before, no charge"
    assert footnote(exact(a=[1])) == "1 row · exact: not protected"
    assert footnote(done("table people made")) == "table people made"


TRICKY = exact(
    text=['quo"te, comma', "line\nbreak", None], number=[1.5, float("nan"), None], yes=[True] * 3
)


def test_csv_can_be_read_back():
    out = io.StringIO()
    formats.write_text(TRICKY, "csv", out)
    read = list(csv.reader(io.StringIO(out.getvalue())))
    assert read == [
        ["text", "number", "yes"],
        ['quo"te, comma', "1.5", "true"],
        ["line\nbreak", "", "true"],
        ["", "", "true"],
    ]


def test_json_can_be_read_back():
    out = io.StringIO()
    formats.write_text(TRICKY, "json", out)
    read = json.loads(out.getvalue())
    assert read[1] == {"text": "line\nbreak", "number": None, "yes": True}
    assert len(read) == 3


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_result_of_no_rows_and_one_without_rows(form):
    out = io.StringIO()
    formats.write_text(done("made"), form, out)
    assert out.getvalue() == ""
    formats.write_text(exact(a=pa.array([], pa.int64())), form, out)
    assert out.getvalue() == {"csv": "a\n", "json": "[\n]\n"}[form]


def written(result, form):
    out = io.StringIO()
    formats.write_text(result, form, out)
    return out.getvalue()


def test_tsv_and_jsonl_can_be_read_back():
    assert list(csv.reader(io.StringIO(written(TRICKY, "tsv")), delimiter="\t")) == list(
        csv.reader(io.StringIO(written(TRICKY, "csv")))
    )
    lines = written(TRICKY, "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == json.loads(written(TRICKY, "json"))


def test_markdown():
    tricky = exact(**{"a|b": ["x|y", "two\nlines", "back\\slash"]})
    assert written(tricky, "markdown").splitlines() == [
        "| a\\|b |",
        "| --- |",
        "| x\\|y |",
        "| two<br>lines |",
        "| back\\\\slash |",
    ]
    assert written(NOISED, "markdown").splitlines()[1:3] == [
        "| ---: | ---: |",
        "| 1 | 102.4 ±3.3 |",
    ]


def test_vertical_keeps_lines_of_a_value_in_its_column():
    assert written(exact(größe=["a\nb"], n=[1]), "vertical").splitlines() == [
        "─[ row 1 ]─────",
        "größe │ a",
        "      │ b",
        "n     │ 1",
    ]


def test_html_of_all_rows():
    page = written(exact(a=list(range(200))), "html")
    assert page.count("<tr>") == 201


def test_wide_signs_take_two_cells():
    lines = printed(exact(a=["日本", "x"], b=[1, 2])).splitlines()
    assert lines[2:] == ["日本  1", "x     2"]


def test_a_terminal_narrows_text_before_it_leaves_columns_out():
    out = io.StringIO()
    screen = Console(file=out, width=60, force_terminal=True, no_color=True)
    table.print_table(exact(a=["x" * 20], b=["y" * 20], c=["z" * 20], d=[1]), screen)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()
    assert [len(line) for line in lines[1:]] == [60, 60]
    assert "…" in lines[2]
    assert lines[2].endswith("1")


def test_a_table_of_many_rows_is_soon_there():
    """A row through rich's tables takes 1 ms; through ours 0.05 ms: the bound is between."""
    result = exact(a=list(range(20_000)), b=["text"] * 20_000, c=[0.5] * 20_000)
    begun = time.process_time()
    assert printed(result).count("\n") == 20_002
    assert time.process_time() - begun < 6


def test_parquet_keeps_types(tmp_path):
    with open(tmp_path / "out.parquet", "wb") as out:
        formats.write_binary(NOISED, "parquet", out)
    assert pq.read_table(tmp_path / "out.parquet").equals(NOISED.table)


def test_html_escapes_and_shows_error_and_cost():
    result = exact(**{"<b>": ["<script>"]})
    page = html.cursor_html(result)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    page = html.cursor_html(NOISED)
    assert "102.4 <small>±3.3</small>" in page
    assert "ε 0.5 spent" in page
    assert html.cursor_html(done("table <t> made")) == "<em>table &lt;t&gt; made</em>"


def test_notes_stand_on_lines_of_their_own_and_are_wrapped():
    noted = replace(NOISED, message="± does not cover values outside [0, 9] in n\nno group of 3")
    lines = ["· ± does not cover values outside [0, 9] in n", "· no group of 3"]
    assert footnote(noted).splitlines() == [*lines, "3 rows · ± 95 % · ε 0.5 spent"]
    assert footnote(noted, width=30).splitlines() == [
        "· ± does not cover values",
        "  outside [0, 9] in n",
        "· no group of 3",
        "3 rows · ± 95 % · ε 0.5 spent",
    ]
    assert "[0, 9] in n<br>· no group of 3<br>3 rows" in html.cursor_html(noted)
    made = Result(message="s: 9 rows\nquality: good", price=Rho(5), epsilon=0.5)
    assert footnote(made).splitlines() == ["s: 9 rows", "· quality: good", "ε 0.5 spent"]


def test_an_explained_price_leaves_the_engines_sql_to_the_other_forms():
    explained = exact(measurement=["count of rows"], sigma=[1.5], sql=["SELECT 1 " * 90])
    assert printed(explained).splitlines()[0].split() == ["measurement", "sigma"]
    plain = io.StringIO()
    formats.write_text(explained, "csv", plain)
    assert "SELECT 1 SELECT 1" in plain.getvalue()
    assert "sql" in printed(exact(title=["a"], sql=["SELECT 1"]))


def test_a_plan_of_the_engine_keeps_its_lines():
    plan = exact(explain_key=["physical_plan"], explain_value=["╭──╮\n╰──╯\n"])
    assert printed(plan).splitlines()[:2] == ["╭──╮", "╰──╯"]


@pytest.mark.parametrize("form", ["table", "vertical"])
def test_what_analysts_write_commands_no_terminal(form):
    """SHOW PRIVACY RELEASES shows their statements, and SHOW TABLES their tables, to an owner."""
    written_by_them = "a\x1b[2J\x1b]0;owned\x07\u009b2J\u202eb"
    result = exact(**{written_by_them: [written_by_them]})
    shown = printed(result) if form == "table" else written(result, form)
    signs = {*"\x1b\x07\u009b\u202e"}
    assert not signs & {*shown}
    assert not signs & {*footnote(Result(message=written_by_them))}
    assert not signs & {*explain_error(Refused(f"there is no table {written_by_them}"))}
    assert r"a\x1b[2J" in shown
