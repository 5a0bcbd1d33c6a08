"""Programs and sealed answers that a session keeps, for whoever asks the same again and again.

What is kept is public: statements, plans, and releases that were replayed from their seals.

* A program is used again for the very statement that it was made of, with the same settings, while
  `PrivateTables.contracts` returns the same object and the release file is the same: whatever is
  declared, budgeted or written makes others. What a subquery was answered with is not kept,
  because it may be of the moment, nor a price that follows from what was released.
* Replayed releases are used again while no answer was sealed to any query that was looked for among
  the seals: the same look-ups would find the same seals.
* What was found out about a tail's rows, by running it a few times more over moved answers, is used
  again where it is given the same answers and gives the same rows. It is run once for each answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from sqlpriv.answer.moments import Moments
from sqlpriv.answer.tails.noised_columns import TailInput
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.algebra import Asked, query_hash
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.session.access.kept_statements import Latest
from sqlpriv.session.queries.programs.program import Program
from sqlpriv.statements import commands as cmd
from sqlpriv.statements import tree as t

MOST_HASHES, MOST_VALUES = 500, 100_000
"""Queries that answers are kept of, and their numbers."""
Query = t.Select | cmd.Unanswerable
LookUp = Callable[[Sequence[Measurement]], tuple[Release, ...]]


def last_seal(ledger: Ledger) -> int:
    """Returns the number of the last answer that was sealed, 0 for none."""
    with ledger.begin() as db:
        return db.execute("SELECT max(id) FROM seal").fetchone()[0] or 0


@dataclass
class Lookups:
    """What was looked for among the seals, and what was found there.

    Attributes:
        queries: What was looked for, in its order.
        seal_ids: The seals that were replayed.
    """

    queries: list[Asked] = field(default_factory=list)
    seal_ids: dict[int, None] = field(default_factory=dict)

    @cached_property
    def hashes(self) -> frozenset[str]:
        """The names of the queries. They are made where answers are kept, once nothing is looked
        for any more: of a statement that pays they are of no use."""
        different = {id(query): query for query in self.queries}
        return frozenset(map(query_hash, different.values()))

    def through(self, measure: LookUp) -> LookUp:
        """Returns `measure`, whose look-ups are noted."""

        def measure_and_note(measurements: Sequence[Measurement]) -> tuple[Release, ...]:
            self.note(measurements)
            releases = measure(measurements)
            self.seal_ids.update(dict.fromkeys(release.id for release in releases))
            return releases

        return measure_and_note

    def note(self, measurements: Sequence[Measurement]) -> None:
        """Notes that answers to these were looked for."""
        self.queries += [m.query for m in measurements]


@dataclass
class ReplayedAnswers:
    """A step's answers, all replayed.

    Args:
        releases, adapted: What `answer.answer` takes, beside the plan.
        lookups: What was looked for.
        last_seal: No seal up to this one, of these queries, was found but those.
    """

    releases: tuple[Release, ...]
    adapted: Mapping[Recipe, Moments]
    lookups: Lookups
    last_seal: int

    @classmethod
    def keep(
        cls,
        releases: tuple[Release, ...],
        adapted: Mapping[Recipe, Moments],
        lookups: Lookups,
        ledger: Ledger,
        before: int,
    ) -> ReplayedAnswers | None:
        """Returns replayed answers to be kept; None of many, or where one was sealed meanwhile, by
        this statement (it paid) or another.

        Args:
            ledger: Where they were sealed.
            before: The last seal of all when the first of them was looked for.
        """
        size = sum(release.values.size for release in releases)
        if size > MOST_VALUES or not 0 < len(lookups.hashes) <= MOST_HASHES:
            return None
        lookups.queries.clear()  # their names are all that is needed from now on
        kept = cls(releases, adapted, lookups, before)
        return None if kept.is_outdated(ledger) else kept

    def replay(self, ledger: Ledger, principal: str, text: str) -> bool:
        """Records that the seals are replayed; returns whether they still are what is found."""
        if self.is_outdated(ledger):
            return False
        with ledger.begin("IMMEDIATE"):
            ledger.replay(ledger.begin_statement(principal, text), [*self.lookups.seal_ids])
        return True

    def is_outdated(self, ledger: Ledger) -> bool:
        """Returns whether an answer to one of these queries was sealed after `last_seal`, and moves
        that on where none was: only seals that are new are read, however many there are."""
        with ledger.begin() as db:
            newer = "SELECT id, query_hash FROM seal WHERE id > ? ORDER BY id"
            seals = db.execute(newer, (self.last_seal,)).fetchall()
        if any(named in self.lookups.hashes for _, named in seals):
            return True
        self.last_seal = seals[-1][0] if seals else self.last_seal
        return False


@dataclass(frozen=True, eq=False)
class KeptTail:
    """What a tail made of some answers, and what was found out about its rows.

    Args:
        inputs: The answers that it read, by name.
        table: Its rows.
        half_widths, summed: As those of a `Result`.
    """

    inputs: Mapping[str, TailInput]
    table: pa.Table
    half_widths: Mapping[str, list[float | None]]
    summed: Mapping[str, frozenset[int]]

    def is_of(self, inputs: Mapping[str, TailInput], table: pa.Table) -> bool:
        """Returns whether a tail, which may ask for the time, made the same of the same now."""
        return table.equals(self.table) and all(
            one.table.equals(inputs[name].table) and one.half_widths == inputs[name].half_widths
            for name, one in self.inputs.items()
        )


@dataclass(frozen=True, eq=False)
class KeptProgram:
    """A program, and what it depends on.

    Args:
        program: The program.
        statement: The very object that it was made of.
        contracts: The very object of `PrivateTables.contracts`.
        circumstances: Settings, and the state of the release file.
        answers: Of its steps by number, if they were replayed.
        tails: What its tail made of the last answers; at most one.
    """

    program: Program
    statement: Query
    contracts: Mapping[str, Any]
    circumstances: object
    answers: dict[int, ReplayedAnswers] = field(default_factory=dict)
    tails: list[KeptTail] = field(default_factory=list)


class KeptPrograms:
    """The programs of a session that were compiled last."""

    def __init__(self) -> None:
        self._programs: Latest[int, KeptProgram] = Latest()

    def program_of(
        self,
        statement: Query,
        contracts: Mapping[str, Any],
        circumstances: object,
        compile_program: Callable[[], Program],
    ) -> KeptProgram:
        """Returns the program that was kept of a statement, or one that is compiled now.

        Args:
            statement: The query.
            contracts: What is declared now.
            circumstances: Settings, and the state of the release file.
            compile_program: Makes the program.
        """
        kept = self._programs.get(id(statement))
        if kept is not None and (
            kept.statement is statement
            and kept.contracts is contracts
            and kept.circumstances == circumstances
        ):
            return kept
        compiled = KeptProgram(compile_program(), statement, contracts, circumstances)
        if compiled.program.is_lasting:
            self._programs[id(statement)] = compiled
        return compiled
