"""What was charged so far, added up once: a statement reads only the charges that are new.

**Claim.** After `RunningSums.read_new(db, …)` the sums are those of all charges that the
transaction of `db` sees, each charge counted once.

**Proof.** Charges are numbered upwards in the order in which their transactions end (`Store`), and
triggers refuse every change, so a committed charge keeps its number and its content for good.
Charges are added in the order of their numbers, and only those above `last`, the largest number
that was added; a charge that would get a lower one, because somebody wrote a number of their own,
is not made (`Ledger.charge`). A charge that is not committed could be undone, and its number given
to another charge: sums that hold such a charge are of that transaction alone (`keep=False` makes a
copy, and leaves these sums as they are).
"""

import copy
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from sqlpriv.kernel.ledger.store import Store
from sqlpriv.kernel.proof.charged_units import UnitFilter

_NEWER = """
SELECT charge.id, charge.unit_table, statement.principal, charge.kind, charge.snapshot_id,
    charge.strata, charge.nano, charge.yocto, substr(charge.at, 1, 10)
FROM charge JOIN statement ON statement.id = charge.statement_id
WHERE charge.id > ? ORDER BY charge.id
"""


@dataclass
class Spending:
    """What was charged to the units of one table, by all principals together or by one of them.

    Attributes:
        kinds: The kinds of the charges; more than one means that the file was tampered with.
        charges: Their number.
        yocto: Their delta for selections of keys, in 1e-24.
        days: Their amounts in 1e-9, by day, by snapshot and, in that, by the filter's text.
    """

    kinds: set[str] = field(default_factory=set)
    charges: int = 0
    yocto: int = 0
    days: dict[str, dict[int | None, Counter[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Counter))
    )

    def since(self, day: str = "") -> dict[int | None, Counter[str]]:
        """Returns the amounts of a day and all later ones, by snapshot and the filter's text."""
        amounts: dict[int | None, Counter[str]] = defaultdict(Counter)
        for of_day, snapshot in [(d, s) for d, some in self.days.items() if d >= day for s in some]:
            amounts[snapshot].update(self.days[of_day][snapshot])
        return amounts


@dataclass
class RunningSums:
    """All charges up to number `last`, by unit's table and principal ('' for all principals).

    A charge counts in the day on which it was made, and never in an earlier one than the charges
    before it: a clock that is set back brings no period back.

    Attributes:
        filters: The filters of charged units by their text in the ledger (JSON).
        day: The day (ISO) of the last charge.
        points: By the unit's table and snapshot: the texts of its charges' filters by each column
            and value that these name; of a filter that names none, under the column ''.
    """

    last: int = 0
    day: str = ""
    filters: dict[str, UnitFilter] = field(default_factory=dict)
    points: dict[tuple[str, int | None], dict[str, dict[Any, set[str]]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(lambda: defaultdict(set)))
    )
    _spending: dict[tuple[str, str], Spending] = field(
        default_factory=lambda: defaultdict(Spending)
    )

    def read_new(self, db: Store, keep: bool) -> "RunningSums":
        """Returns the sums of all charges that a transaction sees; these themselves with `keep`.

        Args:
            db: Inside a transaction.
            keep: Whether all that the transaction sees is committed: it has written nothing.
        """
        rows = db.execute(_NEWER, (self.last,)).fetchall()
        sums = self if keep or not rows else copy.deepcopy(self)
        for number, unit, principal, kind, snapshot, text, nano, yocto, day in rows:
            sums.day = max(sums.day, day)
            if text not in sums.filters:
                sums.filters[text] = json.loads(text)
            for column, values in (sums.filters[text] or {"": [""]}).items():
                for value in values:
                    sums.points[unit, snapshot][column][value].add(text)
            for who in ("", principal.lower()):
                spending = sums._spending[unit, who]
                spending.kinds.add(kind)
                spending.charges += 1
                spending.yocto += yocto
                spending.days[sums.day][snapshot][text] += nano
            sums.last = number
        return sums

    def of(self, unit: str, holder: str = "") -> Spending:
        """Returns what was charged to a unit's table (lower case), in all or by one principal."""
        return self._spending.get((unit, holder.lower())) or Spending()

    def texts_near(self, unit: str, snapshot: int | None, inside: UnitFilter) -> set[str]:
        """Returns the texts of a snapshot's filters, all but some that hold no point of `inside`.

        Claim: a filter that is left out names none of the values of `inside` in the columns that it
        names, so no point of `inside` is in it, and its charges add to no sum of `largest_sum`.
        """
        return {
            text
            for column, texts in self.points[unit, snapshot].items()
            for value in inside.get(column) or [*texts]
            for text in texts.get(value, ())
        }
