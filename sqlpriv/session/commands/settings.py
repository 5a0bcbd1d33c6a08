"""SET and RESET of a session's own settings."""

from __future__ import annotations

from sqlpriv.dialect import DIALECTS
from sqlpriv.errors import Refused
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.result import Result
from sqlpriv.statements import commands as cmd
from sqlpriv.statements.keywords import DIALECT, NUMBER_SETTINGS


def set_option(option: cmd.SetOption, access: Access) -> Result:
    """Keeps a setting for the session, or forgets it.

    Raises:
        Refused: There is no such setting, or no such value of it.
    """
    if option.name == DIALECT:
        return _set_dialect(option, access)
    if option.name not in NUMBER_SETTINGS:
        message = f"there is no setting {option.name}"
        raise Refused.at(option.pos, message, f"settings: {', '.join((*NUMBER_SETTINGS, DIALECT))}")
    if option.value is None:
        access.settings.pop(option.name, None)
        return Result(message=f"{option.name} is not set")
    value = option.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
        raise Refused.at(
            option.pos, f"{option.name} is a positive number below 1,000,000", "as in 0.5"
        )
    access.settings[option.name] = float(value)
    return Result(message=f"{option.name} = {value}")


def _set_dialect(option: cmd.SetOption, access: Access) -> Result:
    """Changes the dialect that the statements behind this one are read in."""
    name = "duckdb" if option.value is None else option.value
    if name not in DIALECTS:
        raise Refused.at(
            option.pos, f"there is no dialect {name}", f"one of: {', '.join(DIALECTS)}"
        )
    access.dialect = str(name)
    return Result(message=f"{DIALECT} = {name}")
