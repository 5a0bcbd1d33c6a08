"""Plain SQL in which an expression that fails on a row is NULL there.

The answers that a tail reads are paid for before DuckDB sees them: a cast that overflows on one of
them must not take all of them away. DuckDB parses the text, and writes it again.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa

from sqlpriv.errors import ProgrammingError
from sqlpriv.system import arrow

RunAlone = Callable[[str, Mapping[str, object] | None], pa.Table]
"""Runs a query over nothing, with parameters."""
MOST_OUTPUTS = 50
"""Outputs that are tried one by one."""
_TRIED_FUNCTIONS = """SELECT DISTINCT function_name FROM duckdb_functions() GROUP BY function_name
HAVING bool_and(function_type = 'scalar' AND stability <> 'VOLATILE') AND function_name <> 'unnest'
"""
_NULL = {"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": ""}


def parse(text: str, run: RunAlone) -> dict[str, Any] | None:
    """Returns DuckDB's tree of one query; None of a statement that it cannot write as JSON."""
    written = run("SELECT json_serialize_sql($text::VARCHAR)", {"text": text}).column(0)[0].as_py()
    tree: dict[str, Any] = json.loads(written)
    return None if tree["error"] else tree


def text_of(tree: dict[str, Any], run: RunAlone) -> str:
    """Returns the text of a tree."""
    written = {"tree": json.dumps(tree)}
    return str(run("SELECT json_deserialize_sql($tree::JSON)", written).column(0)[0].as_py())


def with_tries(tree: dict[str, Any], run: RunAlone) -> dict[str, Any]:
    """Returns a tree whose casts are TRY_CAST and whose scalar functions are in TRY.

    TRY takes no aggregate, window, subquery or random number: a function of these is left as it is,
    and what is inside these is tried.
    """
    names = frozenset(run(_TRIED_FUNCTIONS, None).column(0).to_pylist())

    def rewrite(node: Any, is_tried: bool = False) -> Any:
        if isinstance(node, list):
            return [rewrite(part, is_tried) for part in node]
        if not isinstance(node, dict):
            return node
        if node.get("type") == "TABLE_FUNCTION":
            return node
        may_be_tried = node.get("class") == "FUNCTION" and not is_tried and _is_scalar(node, names)
        parts = {key: rewrite(part, is_tried or may_be_tried) for key, part in node.items()}
        if node.get("class") == "CAST":
            parts["try_cast"] = True
        if not may_be_tried:
            return parts
        place = {key: node[key] for key in node if key.startswith("query_location")}
        outer = {"class": "OPERATOR", "type": "OPERATOR_TRY", "alias": node["alias"], **place}
        return {**outer, "children": [{**parts, "alias": ""}]}

    rewritten: dict[str, Any] = rewrite(tree)
    return rewritten


def outputs_of(tree: dict[str, Any]) -> list[int]:
    """Returns the places of outputs that may be NULL instead; none of UNION or *."""
    listed = tree["statements"][0]["node"].get("select_list") or []
    if len(listed) > MOST_OUTPUTS or any(node["class"] == "STAR" for node in listed):
        return []
    return list(range(len(listed)))


def with_nulls(tree: dict[str, Any], places: Collection[int]) -> dict[str, Any]:
    """Returns a tree whose outputs at some places are NULL, of the types that they had."""
    other = copy.deepcopy(tree)
    listed = other["statements"][0]["node"]["select_list"]
    for place in places:
        node = listed[place]
        at = {key: node[key] for key in node if key.startswith("query_location")}
        never = {**_NULL, **at, "literal": {"kind": "BOOLEAN", "text": "false"}}
        nothing = {**_NULL, **at, "literal": {"kind": "NULL_LITERAL", "text": ""}}
        check = {"when_expr": never, "then_expr": {**node, "alias": ""}}
        case = {"class": "CASE", "type": "CASE_EXPR", "alias": node["alias"], **at}
        listed[place] = {**case, "case_checks": [check], "else_expr": nothing}
    return other


def rescue_tail(
    text: str,
    schema: pa.Schema | None,
    error: ProgrammingError,
    run_alone: RunAlone,
    run: Callable[[str], pa.Table],
) -> tuple[str, pa.Table, tuple[str, ...]]:
    """Returns a query's text in which what fails is NULL, its rows, and a sentence on what failed.

    Where no such text runs (a LIMIT below 0), there are no rows, and the text is as it was.

    Args:
        text: The query, which failed.
        schema: Of its columns; None where rows must come of a text that runs.
        error: Why it failed.
        run_alone: Runs a query over nothing.
        run: Runs a query over the answers.

    Raises:
        ProgrammingError: No such text runs, and there is no schema.
    """
    reason = str(error).split("\n", 1)[0]
    for written, places in _texts_without_failures(text, run_alone, run):
        with suppress(ProgrammingError, ValueError):
            table = run(written)
            table = table if schema is None else table.rename_columns(schema.names)
            what = f'"{table.column_names[places[0]]}"' if places else "what cannot be computed"
            return written, table, (f"{what} is NULL: {reason}",)
    if schema is None:
        raise error
    note = (
        f"no rows, as the answers cannot be put together: {reason}; they are kept, and cost nothing"
        " when they are asked for again: leave out of this statement what fails"
    )
    return text, arrow.table([], schema), (note,)


def _texts_without_failures(
    text: str, run_alone: RunAlone, run: Callable[[str], pa.Table]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields texts of a query in which less and less can fail, and the outputs that are NULL."""
    if (tree := parse(text, run_alone)) is None:
        return
    tree = with_tries(tree, run_alone)
    yield text_of(tree, run_alone), ()
    places = outputs_of(tree)
    failing = []
    for place in places:
        alone = with_nulls(tree, {*places} - {place})
        try:
            run(text_of(alone, run_alone))
        except ProgrammingError:
            failing.append(place)
    if failing:
        yield text_of(with_nulls(tree, failing), run_alone), tuple(failing)


def _is_scalar(node: Any, names: frozenset[str]) -> bool:
    """Returns whether an expression is of columns, literals and functions of these names alone."""
    if isinstance(node, list):
        return all(_is_scalar(part, names) for part in node)
    if not isinstance(node, dict):
        return True
    if node.get("class") in ("WINDOW", "SUBQUERY"):
        return False
    if node.get("class") == "FUNCTION" and node["function_name"].lower() not in names:
        return False
    return all(_is_scalar(part, names) for part in node.values())
