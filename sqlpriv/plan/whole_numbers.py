"""What `OPTIONS (integers = true)` can be asked of: counts of keys one under the other."""

from __future__ import annotations

import itertools

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.algebra import Distinct
from sqlpriv.plan.plan import Output
from sqlpriv.statements.tree import Pos


def check_whole_numbers(output: Output, pos: Pos) -> None:
    """Refuses what has no counts that add up over its levels.

    Raises:
        Refused: Strata, sets of keys that are not one inside the other, keys whose lists do not
            hold every row, or nothing to count.
    """
    sets = sorted((set(marginal.keys) for marginal in output.marginals), key=len)
    recipes = output.marginals[0].recipes if output.marginals else ()
    if output.strata:
        hint = "write the strata as the first keys of ROLLUP"
        raise Refused.at(pos, "integers = true takes GROUP BY, not STRATIFY BY", hint)
    if any(not one <= other for one, other in itertools.pairwise(sets)):
        raise Refused.at(
            pos,
            "integers = true makes counts add up over keys one under the other",
            "GROUP BY ROLLUP (region, town): CUBE has keys side by side",
        )
    if not all(d.complete and d.values for d in output.groups):
        title = next(d.title for d in output.groups if not (d.complete and d.values))
        raise Refused.at(
            pos,
            f"integers = true needs every row to have a listed value, and {title} may have others",
            f"WHERE {title} IN (…), or the owner adds NOT NULL to its PRIVACY DOMAIN",
        )
    if not any(recipe.kind == "count" for recipe in recipes) or any(
        isinstance(recipe.count, Distinct) and recipe.kind == "count" for recipe in recipes
    ):
        hint = "ask for COUNT(*); COUNT(DISTINCT x) does not add up over groups"
        raise Refused.at(pos, "integers = true is about counts of rows", hint)
