"""A chart by stratum in Apache Superset, over a published or a private table, and a picture of it.

    FOLDER/venv/bin/python examples/superset/chart.py FOLDER \\
        "duckdb:////absolute/path/bi.duckdb?access_mode=read_only" chart.png [TABLE]

FOLDER is what setup.sh made. Superset runs on 127.0.0.1 as long as this takes. All goes through
its REST interface, as a person's clicks would: log in, database, dataset, chart; then Chromium
opens the chart and takes the picture. Superset asks as often as it likes: a published table is
public, and of a private one the same question is free.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

HERE = Path(__file__).parent
PATIENCE = 180
"""Seconds that Superset may take to start, and Chromium to draw."""
SEX = "CASE \"SEX\" WHEN 1 THEN 'men' ELSE 'women' END"
RACE = (
    "CASE \"RAC1P\" WHEN 1 THEN 'White' WHEN 2 THEN 'Black' WHEN 6 THEN 'Asian'"
    " WHEN 8 THEN 'other' WHEN 9 THEN 'two or more' ELSE 'smaller groups' END"
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=900,520",
    "--force-device-scale-factor=1",
)


def main(folder: Path, uri: str, picture: Path, table: str = "people_synth") -> None:
    """Makes the chart and prints its rows."""
    with superset(folder) as url:
        session = logged_in(url, (folder / "password").read_text().strip())
        forget(session, f"{url}/api/v1/dataset/", table)
        database = made(
            session,
            f"{url}/api/v1/database/",
            database_name=str(time.time_ns()),
            sqlalchemy_uri=uri,
        )
        schema = "public" if uri.startswith("postgresql") else "main"
        dataset = made(
            session, f"{url}/api/v1/dataset/", database=database, schema=schema, table_name=table
        )
        print(json.dumps(rows(session, url, dataset)))
        chart = made(
            session,
            f"{url}/api/v1/chart/",
            slice_name="Income by stratum",
            datasource_id=dataset,
            datasource_type="table",
            viz_type=FORM["viz_type"],
            params=json.dumps(FORM),
        )
        photograph(session, url, f"{url}/explore/?slice_id={chart}&standalone=1", picture)


def column(label: str, sql: str) -> dict[str, str]:
    """Returns a column, or a metric, that is an expression."""
    return {"label": label, "sqlExpression": sql, "expressionType": "SQL"}


HAVING = "COUNT(*) >= 1000"
"""In groups smaller than that noise is most of what one would see."""
FORM: dict[str, Any] = {
    "viz_type": "echarts_timeseries_bar",
    "x_axis": column("race", RACE),
    "groupby": [column("sex", SEX)],
    "metrics": [column("average income", 'AVG("PINCP")')],
    "adhoc_filters": [{"clause": "HAVING", "expressionType": "SQL", "sqlExpression": HAVING}],
    "row_limit": 100,
    "show_legend": True,
    "x_axis_sort": "race",
    "x_axis_sort_asc": True,
    "y_axis_title": "average income, $",
    "y_axis_title_margin": 75,
    "y_axis_title_position": "Left",
    "y_axis_format": ",d",
}


def rows(session: requests.Session, url: str, dataset: int) -> list[dict[str, Any]]:
    """Returns the chart's rows, as Superset computes them."""
    query = {
        "columns": [FORM["x_axis"], *FORM["groupby"]],
        "metrics": FORM["metrics"],
        "extras": {"having": HAVING},
    }
    body = {"datasource": {"id": dataset, "type": "table"}, "queries": [query]}
    answer = session.post(f"{url}/api/v1/chart/data", json=body)
    answer.raise_for_status()
    found: list[dict[str, Any]] = answer.json()["result"][0]["data"]
    return found


@contextmanager
def superset(folder: Path) -> Iterator[str]:
    """Runs Superset on a free port of 127.0.0.1; yields its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "SUPERSET_HOME": str(folder.resolve()),
        "FLASK_APP": "superset",
        "SUPERSET_CONFIG_PATH": str(HERE / "superset_config.py"),
    }
    command = [folder / "venv" / "bin" / "superset", "run", "-h", "127.0.0.1", "-p", str(port)]
    with open(folder / "superset.log", "wb") as log:
        server = subprocess.Popen(
            [*command, "--with-threads"], env=environment, stdout=log, stderr=log
        )
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(f"{url}/health", server)
            yield url
        finally:
            server.terminate()
            server.wait(30)


def wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    """Returns when the server answers."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        try:
            requests.get(address, timeout=5).raise_for_status()
            return
        except requests.RequestException:
            time.sleep(0.5)
    sys.exit("Superset did not start; see superset.log in its folder")


def logged_in(url: str, password: str) -> requests.Session:
    """Returns a session with a token for the REST interface and a cookie for the pages."""
    session = requests.Session()
    answer = session.post(f"{url}/login/", data={"username": "admin", "password": password})
    answer.raise_for_status()
    who = {"username": "admin", "password": password, "provider": "db", "refresh": True}
    answer = session.post(f"{url}/api/v1/security/login", json=who)
    answer.raise_for_status()
    session.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
    return session


def made(session: requests.Session, address: str, **body: Any) -> int:
    """Makes a database, dataset or chart; returns its number."""
    answer = session.post(address, json=body)
    if not answer.ok:
        sys.exit(f"{re.sub(':[0-9]+', '', address)}: {answer.status_code} {answer.text}")
    return int(answer.json()["id"])


def forget(session: requests.Session, address: str, table: str) -> None:
    """Removes the dataset of a run before: a table name is taken once in Superset's SQLite."""
    query = {"q": f"(filters:!((col:table_name,opr:eq,value:{table})))"}
    for number in session.get(address, params=query).json()["ids"]:
        session.delete(f"{address}{number}").raise_for_status()


def photograph(session: requests.Session, url: str, page: str, picture: Path) -> None:
    """Opens a page in Chromium as who is logged in, waits for the drawing, takes a picture."""
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.binary_location = installed("chromium", "chromium-browser", "google-chrome")
    driver = webdriver.ChromeService(installed("chromedriver"))
    browser = webdriver.Chrome(options=options, service=driver)
    try:
        browser.get(f"{url}/health")  # cookies are set on a page of the same address
        for name, value in session.cookies.items():
            browser.add_cookie({"name": name, "value": value})
        browser.get(page)
        drawn = WebDriverWait(browser, PATIENCE)
        drawn.until(lambda b: b.find_elements(By.CSS_SELECTOR, "canvas"))
        time.sleep(3)  # the bars grow
        browser.save_screenshot(str(picture))
    finally:
        browser.quit()


def installed(*programs: str) -> str:
    """Returns the path of the first of these programs that is here."""
    found = next(filter(None, map(shutil.which, programs)), None)
    return found or sys.exit(f"{programs[0]} is not installed (Debian: chromium, chromium-driver)")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
