"""One page for an owner or a board: what is protected and how, who asked what, what is left.

It holds what SHOW PRIVACY … tells anybody, nothing of a private row, and no script: it can be
mailed, printed and put on a wall. Colours follow the reader's choice of light or dark.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from sqlpriv.interfaces.display.report.html_table import (
    STYLE,
    Code,
    html_table,
    number_text,
    rounded_down,
)
from sqlpriv.interfaces.display.report.spending_picture import (
    spending_picture,
    spent_within_periods,
)

Row = Mapping[str, Any]
MOST_STATEMENTS = 50
"""The page shows so many statements, the latest."""


@dataclass(frozen=True)
class ReportFacts:
    """What the page tells, as the rows of SHOW PRIVACY … and DESCRIBE.

    Args:
        vault: The vault's name.
        tables, budgets, history, statements: TABLES, BUDGET, BUDGET HISTORY and RELEASES.
        columns: Table → the rows of DESCRIBE.
        released: Synthetic table → what it says of itself.
    """

    vault: str
    tables: Sequence[Row]
    budgets: Sequence[Row]
    history: Sequence[Row]
    statements: Sequence[Row]
    columns: Mapping[str, Sequence[Row]]
    released: Mapping[str, str]


def report_page(facts: ReportFacts, today: dt.date) -> str:
    """Returns the page as HTML."""
    parts = [
        _protection(facts),
        _budgets(facts, today),
        _askers(facts),
        _publications(facts),
        _terms(),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Privacy of {escape(facts.vault)}</title><style>{STYLE}</style></head>\n<body>"
        f"<h1>Privacy of {escape(facts.vault)}</h1>"
        f'<p class="soft">As of {today.isoformat()}. Everything here is public.</p>\n'
        + "\n".join(parts)
        + "</body></html>\n"
    )


def _protection(facts: ReportFacts) -> str:
    sentences = []
    for table in facts.tables:
        sentences.append(f"<li><b>{escape(table['table'])}</b>: {_status_text(table)}</li>")
    details = [
        html_table(
            ("column", "type", "role", "declared values"),
            [(r["column_name"], r["column_type"], r["role"], r["privacy_domain"]) for r in rows],
            caption=f"What is declared of {name}",
        )
        for name, rows in facts.columns.items()
    ]
    nothing = "" if sentences else "<p>The vault has no tables.</p>"
    return (
        f"<section><h2>What is protected</h2>{nothing}<ul>{''.join(sentences)}</ul>"
        f"{''.join(details)}</section>"
    )


def _status_text(table: Row) -> str:
    """Returns in plain words whom a table protects."""
    if table["status"] == "public":
        return "public: anybody may read its rows."
    if table["status"] != "private":
        return "closed: nothing is declared, so analysts are refused."
    rows, groups = table["rows_per_unit"], table["groups_per_unit"]
    most, count = ("one row", "counts") if rows == 1 else (f"at most {rows} rows", "count")
    inside = f" in each of at most {groups} groups" if groups > 1 else ""
    whose = f"{table['privacy_key']}" + (
        f" of {table['unit_table']}" if table["unit_table"] != table["table"] else ""
    )
    return (
        f"private. Every single <b>{escape(whose)}</b> is protected, and {most} of each"
        f" {count}{inside}. Answers are noised; rows never leave."
    )


def _budgets(facts: ReportFacts, today: dt.date) -> str:
    cards = []
    for budget in facts.budgets:
        if budget["principal"] is None:
            cards.append(_budget_card(facts, budget, today))
    ceilings = [
        (
            b["unit_table"],
            "everybody else" if b["principal"] == "*" else b["principal"],
            number_text(b["epsilon"]) + (f" in each {b['per']}" if b.get("per") else ""),
            number_text(b["epsilon_spent"]) if b["principal"] != "*" else "",
            number_text(b["epsilon_left"]) if b["principal"] != "*" else "",
        )
        for b in facts.budgets
        if b["principal"] is not None
    ]
    table = html_table(
        ("table", "who", "ceiling (ε)", "spent (ε)", "left (ε)"),
        ceilings,
        numbers=2,
        caption="Ceilings of single users",
    )
    nothing = "" if cards else "<p>No budget is declared: nothing private can be asked.</p>"
    head = "<h2>What was spent, and what is left</h2>"
    return f"<section>{head}{nothing}{''.join(cards)}{table}</section>"


def _budget_card(facts: ReportFacts, budget: Row, today: dt.date) -> str:
    name = budget["unit_table"]
    per, until, total = budget.get("per"), budget.get("until"), budget.get("epsilon_total")
    epsilon, spent = number_text(budget["epsilon"]), number_text(budget["epsilon_spent"])
    left = rounded_down(budget["epsilon_left"])
    delta = f" (δ = {budget['delta']:g})" if budget["delta"] else ""
    period = f" in each {per}" if per else ""
    words = (
        f"The budget is ε = {epsilon}{delta}{period}. Spent{' in this ' + per if per else ''}:"
        f" ε = {spent}. Left: ε = {left}."
    )
    if not per and budget["epsilon_spent"] + budget["epsilon_left"] > budget["epsilon"] * 1.001:
        words += (
            " Spent and left are more than the budget together, because several answers tell less"
            " than the sum of what each may tell."
        )
    if per:
        words += f" Since the start, in all: ε = {number_text(budget['epsilon_in_all'])}."
    if total is not None:
        words += f" Over all periods at most ε = {number_text(total)}."
    if until:
        words += f" Nothing is answered anew after {until}."
    days = [row for row in facts.history if row["unit_table"] == name]
    charged = [row for row in days if row["event"] == "charged"]
    spending = [(_day(row), row["epsilon_spent"]) for row in charged]
    if per:
        spending = spent_within_periods(
            [(_day(r), r["epsilon_in_period"]) for r in charged], per, today
        )
    budgets = [(_day(r), r["epsilon"]) for r in days if r["event"] == "budget set"]
    if facts.tables and all(table["unit_table"] != name for table in facts.tables):
        words += " No table draws on it now."
    since = f"within each {per}" if per else "since the start"
    title = f"ε spent of {name} {since} (line), and its budget{period} (dashed)"
    picture = spending_picture(spending, _last_of_day(budgets), today, title)
    return (
        f'<div class="card"><h3>{escape(name)}</h3><p>{escape(words)}</p>{picture}'
        f'<p class="soft">{escape(title)}</p></div>'
    )


def _askers(facts: ReportFacts) -> str:
    count: dict[str, int] = defaultdict(int)
    again: dict[str, int] = defaultdict(int)
    paid: dict[str, float] = defaultdict(float)
    for row in facts.statements:
        count[row["principal"]] += 1
        again[row["principal"]] += row["replays"]
        paid[row["principal"]] += row["epsilon"] or 0.0
    people = [(who, count[who], number_text(paid[who]), again[who]) for who in sorted(count)]
    latest = [
        (r["at"], r["principal"], Code(r["statement"]), number_text(r["epsilon"]), r["replays"])
        for r in reversed(facts.statements[-MOST_STATEMENTS:])
    ]
    nothing = "" if people else "<p>Nobody has paid for an answer yet.</p>"
    caption = (
        f"The last {len(latest)} of {len(facts.statements)} statements that were charged (UTC)"
    )
    return (
        f"<section><h2>Who asked what</h2>{nothing}"
        + html_table(
            ("who", "statements", "ε, added up", "answered again for nothing"),
            people,
            numbers=1,
            caption="By person; added-up ε is an upper bound of what was learned",
        )
        + html_table(("when", "who", "statement", "ε", "again"), latest, numbers=3, caption=caption)
        + "</section>"
    )


def _publications(facts: ReportFacts) -> str:
    if not facts.released:
        return ""
    rows = [(name, words) for name, words in sorted(facts.released.items())]
    table = html_table(("table", "what it says of itself"), rows)
    return (
        "<section><h2>What was published</h2><p>Synthetic tables: made of noised answers, free to"
        f" use for ever.</p>{table}</section>"
    )


def _terms() -> str:
    return (
        "<section><h2>How to read this</h2><p>Whatever somebody learns from all answers together,"
        " they would have learned nearly the same had any protected person not been in the data."
        " ε bounds that “nearly”: whatever could follow from the answers was at most e<sup>ε</sup>"
        " times as probable with that person's rows as without (2.7 times at ε = 1, 1.1 times at"
        " ε = 0.1), but for an event of probability δ. A small ε protects more and blurs more."
        " Prices add up at most; the ledger is append-only, and nothing is ever paid back."
        "</p></section>"
    )


def _day(row: Row) -> dt.date:
    return dt.date.fromisoformat(row["day"])


def _last_of_day(points: Sequence[tuple[dt.date, float]]) -> list[tuple[dt.date, float]]:
    return list(dict(points).items())
