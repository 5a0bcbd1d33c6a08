"""A question about the catalog is read word by word, however deep its brackets nest."""

from collections.abc import Sequence

import pytest

from sqlpriv.interfaces.server.postgresql.reading import catalog_text
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import SqlToken

DEEP = 12


@pytest.mark.parametrize("name", ["", "abs", "generate_series", "age"])
@pytest.mark.parametrize("place", ["SELECT {}", "SELECT * FROM {}"])
def test_each_word_is_read_once(name: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve brackets of these calls were 4,096 readings of the innermost word."""
    sql, read = place.format(f"{name}(" * DEEP + "1" + ")" * DEEP), 0
    write_next = catalog_text._write_next

    def count(left: Sequence[SqlToken], at: int, words: list[str], principal: str) -> int:
        nonlocal read
        read += left[at].text == "1"
        return write_next(left, at, words, principal)

    monkeypatch.setattr(catalog_text, "_write_next", count)
    assert "1" in catalog_text.to_duckdb(sql, "ada")
    assert read == 1
