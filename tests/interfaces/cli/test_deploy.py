"""The examples of services start the command with options that it has."""

import gc
import re
import shlex
import sys

import click
from support.places import ROOT

from sqlpriv.interfaces.cli.serve import load_for_statements, serve

DEPLOY = ROOT / "examples" / "deploy"


def given(words):
    """Returns the options that a command line gives `sqlpriv serve`, parsed as it parses them."""
    words = [word for word in words if not word.endswith(".pem")]
    words = [word for word in words if word not in ("--certificate", "--key")]
    return serve.make_context("serve", words, resilient_parsing=False).params


def test_what_statements_need_is_loaded_and_left_out_of_collections():
    try:
        load_for_statements()
        assert "sqlpriv.session.dispatch" in sys.modules
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()


def test_the_unit_and_the_image_start_a_server():
    unit = (DEPLOY / "sqlpriv.service").read_text().replace("\\\n", " ")
    started = re.search(r"^ExecStart=\S+/sqlpriv serve (.*)$", unit, re.MULTILINE)[1]
    image = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    entry, arguments = (
        re.search(rf"^{name} (\[.*\])$", image, re.MULTILINE)[1] for name in ("ENTRYPOINT", "CMD")
    )
    assert entry == '["sqlpriv", "serve"]'
    words = shlex.split(arguments.strip("[]").replace(",", " "))
    for params in (given(shlex.split(started)), given(words)):
        assert params["listen"] == "grpc+tls://0.0.0.0:31337"
        assert params["postgresql"] == "0.0.0.0:5432"
        assert params["monitor"] == "127.0.0.1:9464"
    assert "UMask=0077" in unit
    assert "\nUSER sqlpriv" in image
    assert isinstance(serve, click.Command)


def test_the_balancer_serves_both_protocols_and_asks_where_it_is_answered():
    """Its ports are those of the unit; `haproxy -c -f` says whether it can be read."""
    lines = [line.strip() for line in (DEPLOY / "haproxy.cfg").read_text().splitlines()]
    assert lines.count("option httpchk GET /healthz") == 2
    unit = (DEPLOY / "sqlpriv.service").read_text()
    for line in (line for line in lines if line.startswith("server ")):
        served, watched = re.search(r":(\d+) check port (\d+)", line).groups()
        assert f"0.0.0.0:{served} " in unit
        assert f"--monitor 127.0.0.1:{watched} " in unit
