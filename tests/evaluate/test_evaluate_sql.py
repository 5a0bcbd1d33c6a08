"""EVALUATE SYNTHETIC TABLE: the owner's statement, its rows, its page, who is kept away."""

from __future__ import annotations

import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlpriv.errors import PermissionDenied, Refused, VaultBusy
from sqlpriv.evaluate import charts
from sqlpriv.evaluate.report import BANNER, STYLE
from sqlpriv.kernel.reader import Reader
from sqlpriv.publish.release_file import beside
from sqlpriv.session.commands.evaluate import _both
from sqlpriv.session.session import Result, Session
from sqlpriv.synth.api.progress import Progress

pytest.importorskip("altair")
pytest.importorskip("sklearn")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

PEOPLE = """
CREATE TABLE people AS SELECT range AS id, (hash(range) % 2 + 1)::TINYINT AS sex,
    (hash(range + 1) % 4 + 1)::TINYINT AS race, (hash(range + 2) % 80)::TINYINT AS age,
    (hash(range + 3) % 100 < 20 + 60 * (hash(range) % 2)) AS employed, 'x' AS unused
FROM range(6000);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (1, 2);
ALTER TABLE people ALTER COLUMN race SET PRIVACY DOMAIN IN (1, 2, 3, 4);
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN (0, 99);
ALTER TABLE people ALTER COLUMN employed SET PRIVACY DOMAIN IN (FALSE, TRUE);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9);
CREATE TABLE others AS SELECT * FROM people WHERE id % 3 = 0;
CREATE SYNTHETIC TABLE twins AS SELECT sex, race, age, employed FROM people
    STRATIFY BY sex USING independent OPTIONS (epsilon = 1);
"""
EVALUATE = "EVALUATE SYNTHETIC TABLE twins AGAINST people STRATIFY BY sex, race"


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evaluate") / "people.duckdb"
    with Session(path, role="owner", principal="olga") as owner:
        owner.execute(PEOPLE)
    return path


@pytest.fixture
def owner(vault: Path) -> Iterator[Session]:
    with Session(vault, role="owner", principal="olga") as session:
        yield session


def values(result: Result) -> dict[tuple[str, str, str | None], float | None]:
    assert result.table is not None
    rows = result.table.to_pylist()
    return {(r["measure"], r["about"], r["stratum"]): r["value"] for r in rows}


def test_the_figures_are_those_of_plain_sql(owner: Session) -> None:
    before = owner.budgets()
    result = owner.execute(EVALUATE)
    assert result.exact
    assert owner.budgets() == before
    found = values(result)
    truth = owner.execute("SELECT avg(age) AS a FROM people WHERE sex = 1 AND race = 3").table
    made = owner.execute("SELECT avg(age) AS a FROM twins WHERE sex = 1 AND race = 3").table
    assert truth is not None
    assert made is not None
    assert found["mean, real", "age", "sex = 1, race = 3"] == pytest.approx(truth["a"][0].as_py())
    assert found["mean, synthetic", "age", "sex = 1, race = 3"] == pytest.approx(
        made["a"][0].as_py()
    )
    assert 0 < found["workload error", "1-way marginals", None] < 0.3
    assert (
        sum(m == "workload error" for m, _, _ in found) == 2 * (1 + 8) + 1
    )  # 3-way: the whole only
    assert ("mean, real", "unused", None) not in found


def test_a_classifier_is_tested_on_held_out_rows_or_says_that_it_is_not(owner: Session) -> None:
    told: list[Progress] = []
    seen = owner.execute(f"{EVALUATE} OPTIONS (target = 'employed')", progress=told.append)
    assert [p.done for p in told] == list(range(6))
    assert {p.of for p in told} == {6}
    notes = {r["note"] for r in seen.table.to_pylist() if r["measure"] == "accuracy"}
    assert notes == {"tested on rows that the synthesizer was given"}
    held = owner.execute(
        f"{EVALUATE} OPTIONS (target = 'employed', positive = false, held_out = 'others')"
    )
    assert held.table is not None
    accuracy = {r["about"]: r for r in held.table.to_pylist() if r["measure"] == "accuracy"}
    assert list(accuracy) == [
        f"employed = False, trained on {x} rows" for x in ("synthetic", "real")
    ]
    assert all(r["note"] == "" and r["value"] > 0.7 for r in accuracy.values())


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "EVALUATE SYNTHETIC TABLE none AGAINST people STRATIFY BY sex",
            'no released table "none"',
        ),
        ("EVALUATE SYNTHETIC TABLE twins AGAINST nobody STRATIFY BY sex", 'no table "nobody"'),
        ("EVALUATE SYNTHETIC TABLE twins AGAINST people", "AGAINST people STRATIFY BY sex"),
        ("EVALUATE SYNTHETIC TABLE twins AGAINST people STRATIFY BY id", "both have: sex"),
        ("EVALUATE SYNTHETIC TABLE twins AGAINST people STRATIFY BY sex, SEX", "named twice"),
        (f"{EVALUATE} OPTIONS (goal = 'x')", "no option goal"),
        (f"{EVALUATE} OPTIONS (positive = 1)", "needs a target"),
        (f"{EVALUATE} OPTIONS (target = 'age')", "which one is positive"),
        (f"{EVALUATE} OPTIONS (target = 'sex')", "makes the strata"),
        (f"{EVALUATE} OPTIONS (target = 'employed', held_out = 'none')", 'no table "none"'),
        (f"{EVALUATE} OPTIONS (target = 'employed', positive = 'maybe')", "one class"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_write(
    owner: Session, sql: str, said: str
) -> None:
    with pytest.raises(Refused, match=re.escape(said)):
        owner.execute(sql)


def test_an_analyst_is_kept_away(vault: Path) -> None:
    with Session(vault, principal="ann") as analyst, pytest.raises(PermissionDenied):
        analyst.execute(EVALUATE)


@pytest.fixture(scope="module")
def page(vault: Path) -> Path:
    path = vault.with_name("twins <&> people.html")
    with Session(vault, role="owner", principal="olga") as owner:
        owner.execute(f"{EVALUATE} OPTIONS (target = 'employed', report = '{path}')")
    return path


def test_the_page_is_whole_private_and_reaches_for_nothing(page: Path) -> None:
    text = page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert text.index(BANNER) < text.index("<h1>")
    assert text.count("<svg") == 4
    assert "<script" not in text
    assert not re.findall(r"(?:src|href|url)\s*[=(]", re.sub(r"url\(#", "", text))
    assert [p.name for p in page.parent.glob("*.tmp")] == []


LEGIBLE_ON_BOTH = {charts.SYNTHETIC, charts.POPULATION, "none", "transparent"}
"""Colours of charts that stand out from white and from the dark page."""
INSIDE_BOXES = re.compile(r"#222|white|rgb\(.*\)|url\(.*\)")
"""The map's boxes, the figures inside them, and the sheet below a chart, which STYLE takes away."""


def test_charts_follow_light_and_dark(page: Path) -> None:
    """What is neither legible on both nor inside a box of the map has a rule of the page's."""
    text = page.read_text()
    assert "prefers-color-scheme: dark" in text
    svg = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
    colours = set(re.findall(r'((?:fill|stroke)="[^"]+")', svg))
    assert len(colours) > 8
    plain = {c for c in colours if c.split('"')[1] not in LEGIBLE_ON_BOTH}
    unruled = [c for c in plain if f"[{c}]" not in STYLE]
    assert [c for c in unruled if not INSIDE_BOXES.fullmatch(c.split('"')[1])] == []


def test_nobody_else_may_look_at_what_spills(vault: Path) -> None:
    with _both(vault, beside(vault)) as engine:
        (spills,) = engine.execute("SELECT current_setting('temp_directory')").fetchone() or ("",)
        assert Path(spills).parent == vault.parent
        assert stat.S_IMODE(Path(spills).stat().st_mode) == 0o700
    assert not Path(spills).exists()


def test_nobody_writes_while_it_is_evaluated(owner: Session, vault: Path) -> None:
    """Nor is it evaluated while another session of this process writes."""
    write = "import sys, duckdb; duckdb.connect(sys.argv[1])"

    def may_write() -> bool:
        command = [sys.executable, "-c", write, str(vault)]
        return subprocess.run(command, timeout=60, stderr=subprocess.DEVNULL).returncode == 0

    seen = []

    def read_and_look(_: Progress) -> None:
        if not seen:  # as an analyst on the same server does
            with Reader(vault):
                pass
            seen.append(may_write())

    owner.execute(EVALUATE, progress=read_and_look)
    assert seen == [False]
    assert may_write()
    with Session(vault, role="owner") as writer:
        writer.execute("BEGIN; CREATE TABLE more (x INTEGER)")
        with pytest.raises(VaultBusy):
            owner.execute(EVALUATE)
        assert not may_write()
        writer.rollback()


MEASURE = """<script>window.onload = () => {
  let out = 0, all = 0;
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      if (!box.width) continue;
      all += 1;
      if (box.left < frame.left - 1 || box.right > frame.right + 1
          || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) out += 1;
    }
  }
  const banner = document.querySelector('.banner').getBoundingClientRect();
  document.title = `${out} of ${all} texts out of sight; banner at ${banner.top}`;
};</script>"""


def titled(page: Path, profile: Path) -> str:
    """Returns the page's title once a browser without a network has laid it out and measured it."""
    measured = page.with_name("measured.html")
    measured.write_text(page.read_text().replace("</body>", f"{MEASURE}</body>"))
    command = [
        str(CHROMIUM),
        *FLAGS,
        f"--user-data-dir={profile}",
        "--window-size=1100,900",
        "--dump-dom",
        measured.as_uri(),
    ]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r"<title>(.*?)</title>", dom)
    assert found is not None
    return found[1]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
def test_a_browser_shows_every_label_whole(page: Path, tmp_path: Path) -> None:
    said = re.fullmatch(r"(\d+) of (\d+) texts out of sight; banner at 0", titled(page, tmp_path))
    assert said is not None
    assert int(said[2]) > 100
    assert said[1] == "0"
    # and a page whose labels are cut off is caught
    cut_off = page.read_text().replace('viewBox="0 0 ', 'viewBox="90 0 ')
    page.write_text(cut_off.replace("figure svg {", "figure svg { overflow: hidden;"))
    cut = re.match(r"(\d+) of", titled(page, tmp_path))
    assert cut is not None
    assert int(cut[1]) > 0
