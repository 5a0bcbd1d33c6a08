"""Reads golden files, and rewrites them: `python tests/rewrites/golden.py` after a wanted change.

A case is what the user writes, the plain SQL (by hand) that it must equal without noise, and the
kernel's SQL::

    -- what it shows
    SELECT … ;
    -- plain
    SELECT … ;
    -- kernel
    WITH … ;

In `rejected.sql` the user's SQL is followed by `-- error` and the message in comment lines.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
_CASE = re.compile(
    r"^-- (?P<title>(?!plain|kernel|error).+)\n(?P<sql>(?:(?!-- ).*\n)+?)"
    r"-- (?:plain\n(?P<plain>(?:(?!-- ).*\n)+?)-- kernel\n(?P<kernel>(?:.+\n)*)"
    r"|error\n(?P<error>(?:--   .*\n)*))",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Case:
    """One case of a golden file; texts without the closing semicolon."""

    title: str
    sql: str
    plain: str
    kernel: str
    error: str


def cases(name: str) -> list[Case]:
    """Returns the cases of `name`.sql."""
    text = (FOLDER / f"{name}.sql").read_text("utf-8")
    found = [
        Case(m["title"], *(_bare(m[part]) for part in ("sql", "plain", "kernel")), _message(m))
        for m in _CASE.finditer(text)
    ]
    assert len(found) == len(re.findall("^-- (?:plain|error)$", text, re.MULTILINE)), name
    return found


def names() -> list[str]:
    """Returns the golden files of accepted statements."""
    return sorted(p.stem for p in FOLDER.glob("*.sql") if p.stem != "rejected")


def _bare(text: str | None) -> str:
    return (text or "").strip().removesuffix(";")


def _message(match: re.Match[str]) -> str:
    return "\n".join(line[5:] for line in (match["error"] or "").splitlines())


def kernel_sql(sql: str) -> str:
    """Returns what the kernel would run for a statement over the people of the tests."""
    from support.exact_people import PEOPLE, planned

    from sqlpriv.kernel.sql.queries import render
    from sqlpriv.kernel.terms.algebra import Level

    asked = [m.query for m in planned(sql).measurements]
    return render([q.histogram if isinstance(q, Level) else q for q in asked], PEOPLE, 0).sql


def refusal(sql: str) -> str:
    """Returns the message that a statement is refused with; '' when it is not."""
    from support.exact_people import planned

    from sqlpriv.answer.rows import rehearse
    from sqlpriv.errors import Refused

    try:
        rehearse(planned(sql), None)
    except Refused as error:
        return str(error)
    return ""


def _rewrite() -> None:
    sys.path.insert(0, str(FOLDER.parent))
    from sqlpriv.plan.aggregates import estimators

    estimators.LEAST_GAIN = 12.0  # as the fixture narrow_means_are_plain does, in the tests
    for name in names():
        parts = [
            f"-- {c.title}\n{c.sql};\n-- plain\n{c.plain};\n-- kernel\n{kernel_sql(c.sql)};\n"
            for c in cases(name)
        ]
        (FOLDER / f"{name}.sql").write_text("\n".join(parts), "utf-8")
    lines = [
        f"-- {c.title}\n{c.sql};\n-- error\n"
        + "".join(f"--   {line}\n" for line in refusal(c.sql).splitlines())
        for c in cases("rejected")
    ]
    (FOLDER / "rejected.sql").write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    _rewrite()
