#!/usr/bin/env bash
# Makes Apache Superset in a folder of its own: environment, settings, an administrator.
#   examples/superset/setup.sh FOLDER      (minutes; about 1.5 GB)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
home=$(cd "$1" && pwd)

"${PYTHON:-python3}" -m venv "$home/venv"
"$home/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"

umask 077
head -c 32 /dev/urandom | base64 > "$home/secret_key"
head -c 12 /dev/urandom | base64 > "$home/password"

export SUPERSET_HOME="$home" SUPERSET_CONFIG_PATH="$here/superset_config.py" FLASK_APP=superset
"$home/venv/bin/superset" db upgrade
"$home/venv/bin/superset" fab create-admin --username admin --password "$(cat "$home/password")" \
    --firstname Ada --lastname Admin --email admin@localhost
"$home/venv/bin/superset" init
