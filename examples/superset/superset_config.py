"""Superset on one machine for one person: its own data in SUPERSET_HOME, nothing shared."""

import os
from pathlib import Path

HOME = Path(os.environ["SUPERSET_HOME"])
SECRET_KEY = (HOME / "secret_key").read_text()
SQLALCHEMY_DATABASE_URI = f"sqlite:///{HOME / 'superset.db'}?check_same_thread=false"

# DuckDB files are local files, which Superset refuses unless told.
PREVENT_UNSAFE_DB_CONNECTIONS = False
# It listens on 127.0.0.1 without TLS, and its REST interface is used by a program with a token.
TALISMAN_ENABLED = False
WTF_CSRF_ENABLED = False
