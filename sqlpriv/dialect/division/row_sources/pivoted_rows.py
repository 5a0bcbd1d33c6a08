"""PIVOT (…) and UNPIVOT of private rows, as queries that aggregate and as UNION ALL.

(SELECT educ, sex, age FROM people) PIVOT (AVG(age) FOR sex IN ('F', 'M'))
──► (SELECT educ, AVG(age) FILTER (WHERE sex = 'F') AS "F", … GROUP BY educ)

SELECT name, AVG(value) FROM people UNPIVOT (value FOR name IN (age, hours)) GROUP BY name
──► … FROM (SELECT * EXCLUDE (age, hours), 'age' AS name, age AS value FROM people
            WHERE age IS NOT NULL UNION ALL SELECT …) GROUP BY name
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.common_tables import common_table
from sqlpriv.dialect.division.row_sets import has_raw_rows
from sqlpriv.dialect.division.row_sources.rows_in_from import union_all
from sqlpriv.dialect.division.terms.named_terms import distinct_output_names, is_aggregate
from sqlpriv.dialect.marks import duckdb_text, marked_name


def with_pivots_written(root: exp.Expr) -> None:
    """Rewrites PIVOT (…) behind a part of FROM, and UNPIVOT of rows as they are stored."""
    for pivot in list(root.find_all(exp.Pivot)):
        source = pivot.parent
        if pivot.args.get("unpivot") and source is not None and _unpivots_raw_rows(source, pivot):
            _write_unpivot(source, pivot)
        elif isinstance(source, exp.Subquery | exp.Table) and pivot.args.get("fields"):
            _write_pivot(source, pivot)


def _unpivots_raw_rows(source: exp.Expr, pivot: exp.Pivot) -> bool:
    """Returns whether an UNPIVOT is of rows as they are stored, and not of answers."""
    rows = pivot.this or source
    if isinstance(rows, exp.Table):
        cte = common_table(rows)
        return cte is None or has_raw_rows(cte.this)
    return has_raw_rows(rows)


def _write_pivot(source: exp.Subquery | exp.Table, pivot: exp.Pivot) -> None:
    """Writes `source PIVOT (AVG(x) FOR k IN (…))` as a subquery that has the aggregates."""
    fields, titles = pivot.args["fields"], pivot.args.get("columns") or []
    if pivot.args.get("unpivot") or len(source.args["pivots"]) != 1 or len(fields) != 1:
        return
    field, group = fields[0], pivot.args.get("group")
    aggregates = [item.unalias() for item in pivot.expressions]
    read = [field.this, *aggregates]
    used = {x.name.lower() for part in read for x in part.find_all(exp.Column)}
    if group is not None:
        keys = [key.copy() for key in group.expressions]
    else:
        star = exp.select("*").from_(source.copy())
        star.args["from_"].this.set("pivots", None)
        names = distinct_output_names(star)
        if names is None:
            return  # all other columns of a stored table, its unit's key among them
        keys = [exp.column(n, quoted=True) for n in names if n.lower() not in used]
    values = [x.this if isinstance(x, exp.PivotAlias) else x for x in field.expressions]
    cells = [
        exp.Filter(
            this=aggregate.copy(),
            expression=exp.Where(this=exp.EQ(this=field.this.copy(), expression=value.copy())),
        )
        for value in values
        for aggregate in aggregates
    ]
    if len(cells) != len(titles) or not all(map(is_aggregate, aggregates)):
        return
    of_truths = [_truth_word(value) for value in values for _ in aggregates]
    outputs = [
        exp.alias_(cell, word + title.name, quoted=True)
        for cell, title, word in zip(cells, titles, of_truths, strict=True)
    ]
    alias = pivot.args.get("alias") or exp.TableAlias(this=exp.to_identifier("__pivot"))
    inner = source.copy()
    inner.set("pivots", None)
    select = exp.select(*(key.copy() for key in keys), *outputs).from_(inner)
    select = select.group_by(*keys) if keys else select
    source.replace(exp.Subquery(this=select, alias=alias.copy()))


def _truth_word(value: exp.Expr) -> str:
    """Returns the name of a column of TRUE or FALSE, which sqlglot leaves out; '' of others."""
    is_truth = isinstance(value, exp.Boolean) or marked_name(value)
    return duckdb_text(value).lower() if is_truth else ""


def _write_unpivot(source: exp.Expr, pivot: exp.Pivot) -> None:
    """Writes `source UNPIVOT (x FOR k IN (a, b))` as the rows of each of its columns."""
    parts = _parts_of_unpivot(source, pivot)
    if parts is None:
        return
    rows, name, value, titles = parts
    branches = []
    for column, title in titles:
        others = exp.Star(except_=[other.copy() for other, _ in titles])
        named = exp.alias_(exp.Literal.string(title), name, quoted=True)
        valued = exp.alias_(column.copy(), value, quoted=True)
        branch = exp.select(others, named, valued).from_(rows.copy())
        if not pivot.args.get("include_nulls"):
            branch = branch.where(exp.not_(exp.Is(this=column.copy(), expression=exp.null())))
        branches.append(branch)
    alias = pivot.args.get("alias") or source.args.get("alias")
    alias = alias or exp.TableAlias(this=exp.to_identifier("__unpivot"))
    source.replace(exp.Subquery(this=union_all(branches), alias=alias.copy()))


def _parts_of_unpivot(
    source: exp.Expr, pivot: exp.Pivot
) -> tuple[exp.Expr, str, str, list[tuple[exp.Column, str]]] | None:
    """Returns the rows of an UNPIVOT, how it names columns and values, and which columns it takes,
    each with its title; None of another form."""
    fields, into = pivot.args.get("fields") or [], pivot.args.get("into")
    if into is not None:  # UNPIVOT rows ON a, b INTO NAME k VALUE x
        rows, values, names, columns = pivot.this, into.expressions, [into.this], pivot.expressions
    elif len(fields) == 1 and isinstance(source, exp.Table | exp.Subquery):
        rows, values, names = source.copy(), pivot.expressions, [fields[0].this]
        rows.set("pivots", None)
        columns = fields[0].expressions
    else:
        return None
    titles = []
    for column in columns:
        inside = column.this if isinstance(column, exp.PivotAlias) else column
        title = column.args["alias"].name if isinstance(column, exp.PivotAlias) else inside.name
        if not isinstance(inside, exp.Column) or marked_name(inside) or inside.table:
            return None
        titles.append((inside, title))
    if len(values) != 1 or not titles or isinstance(values[0], exp.Tuple):
        return None
    return rows, names[0].name, values[0].name, titles
