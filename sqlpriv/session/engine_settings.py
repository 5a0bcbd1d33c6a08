"""Which settings of the engine analysts may ask for: those that say what SQL means.

Others tell of the machine, as `current_setting('secret_directory')` does of the home folder of who
runs the server.
"""

from __future__ import annotations

import re

from sqlpriv.errors import Refused
from sqlpriv.statements.tree import Pos

PUBLIC = (
    *("TimeZone", "Calendar", "default_collation", "default_null_order", "null_order"),
    *("default_order", "integer_division", "ieee_floating_point_ops", "schema", "search_path"),
)
_ASKED = re.compile(r"current_setting(?:\s*\(\s*'(\w*)'\s*\))?", re.IGNORECASE)


def check_settings(sql: str) -> None:
    """Refuses a text that asks for a setting which is not public, or whose name is computed.

    The text is looked at as it is written, so that no way to run it is left out: a literal or a
    comment that holds the function's name is refused, too.

    Raises:
        Refused: At the first such place.
    """
    public = {name.lower() for name in PUBLIC}
    for call in _ASKED.finditer(sql):
        if (call[1] or "").lower() not in public:
            before = sql[: call.start()]
            pos = Pos(before.count("\n") + 1, call.start() - before.rfind("\n"))
            message = "this setting of the engine is about its machine, and not told"
            raise Refused.at(
                pos, message, f"current_setting('…') is, as written, for {', '.join(PUBLIC)}"
            )
