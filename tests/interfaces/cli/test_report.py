"""`sqlpriv report`: what SHOW PRIVACY tells, as a page that a browser reads, and nothing else."""

from __future__ import annotations

import datetime as dt
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from sqlpriv.interfaces.cli.main import main
from sqlpriv.interfaces.display.report.report_page import ReportFacts, report_page
from sqlpriv.interfaces.display.report.spending_picture import spending_picture
from sqlpriv.session.session import Session

VAULT = """
CREATE TABLE people AS SELECT i AS id, i % 2 AS sex, 4711 AS pay FROM range(2000) r(i);
CREATE TABLE visits AS SELECT i % 2000 AS pid FROM range(4000) r(i);
CREATE TABLE codes AS SELECT 1 AS code;
CREATE TABLE secrets AS SELECT 0815 AS x;
ALTER TABLE people SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1), COLUMN sex IN (0, 1),
    BUDGET (epsilon = 2, per = 'month', total = 9), BUDGET (epsilon = 1, per = 'day') FOR '<ada>');
ALTER TABLE visits SET PRIVACY (LINK (pid) REFERENCES people(id), BOUND (rows_per_unit = 3));
ALTER TABLE codes SET PUBLIC;
"""
ASKED = (
    'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) AS "<b>n</b>" FROM people'
)


class Page(HTMLParser):
    """Checks that tags are opened and closed in order, and keeps names and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, _: object) -> None:
        self.tags.add(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, _: object) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if not self.open or self.open[-1] != "style" else ""


@pytest.fixture
def page(tmp_path: Path) -> Page:
    vault = tmp_path / "people.duckdb"
    with Session(vault, role="owner", principal="olga") as owner:
        owner.execute(VAULT)
    with Session(vault, principal="<ada>") as ada:
        ada.execute(ASKED)
        ada.execute(ASKED)
    done = CliRunner().invoke(main, ["report", str(vault), "--to", str(tmp_path / "r.html")])
    assert done.exit_code == 0, done.output
    return Page((tmp_path / "r.html").read_text("utf-8"))


@pytest.mark.usefixtures("one_day")
def test_the_page_says_who_is_protected_what_was_spent_and_who_asked(page: Page) -> None:
    assert page.open == []
    for words in (
        "people: private. Every single id is protected, and one row of each counts.",
        "visits: private. Every single id of people is protected, and at most 3 rows of each",
        "codes: public",
        "secrets: closed",
        "The budget is ε = 2 in each month. Spent in this month: ε = 0.5. Left: ε = 1.5."
        " Since the start, in all: ε = 0.5. Over all periods at most ε = 9.",
        'COUNT(*) AS "<b>n</b>"',
        "The last 1 of 1 statements",
        "1 in each day",
    ):
        assert words in page.text


def test_the_page_holds_no_row_no_script_and_no_markup_of_users(page: Page) -> None:
    assert {"svg", "table", "section", "path"} <= page.tags
    assert not {"script", "link", "img", "iframe", "ada"} & page.tags
    assert "4711" not in page.text
    assert "0815" not in page.text


def test_the_picture_is_a_step_line_under_the_budget() -> None:
    day = dt.date(2026, 1, 1)
    later, end = day + dt.timedelta(10), day + dt.timedelta(19)
    svg = spending_picture([(day, 1.0), (later, 3.0)], [(day, 5.0)], end, "a & b")
    # 720 wide with margins 52 and 12 and 20 days: a day is 32.8; 240 high with 14 and 30: 1 is 39.2
    assert 'class="spent" d="M52.0 170.8H380.0V92.4H708.0"' in svg
    assert 'class="budget" d="M52.0 14.0H708.0"' in svg
    assert "<title>a &amp; b</title>" in svg
    assert Page(svg).open == []


def test_a_vault_that_nobody_asked_has_a_page_too(tmp_path: Path) -> None:
    vault = tmp_path / "people.duckdb"
    with Session(vault, role="owner") as owner:
        owner.execute("CREATE TABLE t (x INTEGER)")
    done = CliRunner().invoke(main, ["report", str(vault), "--to", str(tmp_path / "r.html")])
    assert done.exit_code == 0, done.output
    text = Page((tmp_path / "r.html").read_text("utf-8")).text
    assert "Nobody has paid for an answer yet." in text
    assert "No budget is declared" in text


def test_a_page_in_a_folder_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    vault, page = tmp_path / "people.duckdb", tmp_path / "none" / "r.html"
    with Session(vault, role="owner") as owner:
        owner.execute("CREATE TABLE t (x INTEGER)")
    done = CliRunner().invoke(main, ["report", str(vault), "--to", str(page)])
    assert done.exit_code == 2
    assert f"there is no folder {page.parent}; mkdir -p makes it" in done.output


def test_an_owner_s_page_tells_of_tables_that_few_may_use(tmp_path: Path) -> None:
    vault = tmp_path / "people.duckdb"
    with Session(vault, role="owner") as owner:
        owner.execute(VAULT)
        owner.execute("REVOKE SELECT ON people, visits FROM PUBLIC")
    for role, number in (([], 1), (["--role", "analyst"], 0)):
        done = CliRunner().invoke(main, ["report", str(vault), "--to", str(tmp_path / "r"), *role])
        assert done.exit_code == 0, done.stderr
        assert (tmp_path / "r").read_text().count("<h3>people</h3>") == number


def test_what_is_left_is_rounded_down_and_its_sum_explained() -> None:
    spent = {"epsilon": 100.0, "epsilon_spent": 1.17, "epsilon_left": 99.978, "delta": 1e-9}
    budget = {"unit_table": "people", "principal": None, "per": None, "until": None, **spent}
    facts = ReportFacts("people.duckdb", [], [budget], [], [], {}, {})
    assert "Left: ε = 99.97. Spent and left are more" in report_page(facts, dt.date(2026, 11, 1))
    plain = replace(facts, budgets=[{**budget, "epsilon_left": 98.83}])
    assert "Left: ε = 98.83.<" in report_page(plain, dt.date(2026, 11, 1))


def test_a_whole_budget_is_left_whole_and_one_that_no_table_draws_on_says_so() -> None:
    """Of a budget of 3 that nobody had drawn on, 2.99 was left."""
    left = {"epsilon": 3.0, "epsilon_spent": 0.0, "epsilon_left": 2.9999999, "delta": 1e-9}
    budget = {"unit_table": "people", "principal": None, "per": None, "until": None, **left}
    other = {"table": "wards", "status": "public", "unit_table": None}
    facts = ReportFacts("people.duckdb", [other], [budget], [], [], {}, {})
    page = report_page(facts, dt.date(2026, 11, 1))
    assert "Left: ε = 3. No table draws on it now." in page


def test_of_a_budget_of_months_the_picture_shows_what_each_month_spent() -> None:
    """The line was of all months together, and rose above the budget of one."""
    months = {"epsilon": 2.0, "epsilon_spent": 0.5, "epsilon_left": 1.5, "epsilon_in_all": 2.0}
    budget = {"unit_table": "people", "principal": None, "per": "month", "until": None}
    budget |= {"delta": 0.0, "epsilon_total": None, **months}
    days = (("2026-01-10", 1.5, 1.5), ("2026-02-05", 2.0, 0.5))
    charged = {"unit_table": "people", "event": "charged"}
    history = [
        {**charged, "day": day, "epsilon_spent": all_days, "epsilon_in_period": month}
        for day, all_days, month in days
    ]
    facts = ReportFacts("people.duckdb", [], [budget], history, [], {}, {})
    page = report_page(facts, dt.date(2026, 2, 10))
    assert "ε spent of people within each month (line)" in page
    # 32 days on 656 are 20.5 each; of 2, 196 high: 1.5 from January 10th, 0 from February, then 0.5
    assert 'class="spent" d="M52.0 63.0H503.0V210.0H585.0V161.0H708.0"' in page


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no browser is here")
def test_a_printed_page_begins_with_what_is_protected(tmp_path: Path) -> None:
    """The first sheet held the title alone: no section was parted, and none fitted below it."""
    columns = [
        {"column_name": f"c{i}", "column_type": "BIGINT", "role": None, "privacy_domain": "IN (1)"}
        for i in range(30)
    ]
    table = {"table": "people", "status": "private", "unit_table": "people", "privacy_key": "id"}
    table |= {"rows_per_unit": 1, "groups_per_unit": 1}
    facts = ReportFacts("people.duckdb", [table], [], [], [], {"people": columns}, {})
    (tmp_path / "r.html").write_text(report_page(facts, dt.date(2026, 11, 1)), "utf-8")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu"]
    command += [f"--print-to-pdf={tmp_path}/r.pdf", f"file://{tmp_path}/r.html"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    sheets = re.findall(rb"/Type\s*/Page[^s]", (tmp_path / "r.pdf").read_bytes())
    assert len(sheets) == 2  # three, where the sections stand on sheets of their own
