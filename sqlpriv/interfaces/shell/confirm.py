"""The price of a statement, asked before it is paid."""

from __future__ import annotations

from sqlpriv import errors
from sqlpriv.session.access.quote import Quote
from sqlpriv.session.session_like import SessionLike


def question_before(session: SessionLike, statement: str) -> str | None:
    """Returns the question to ask before a statement is run.

    None where it costs nothing, more than is left, or would be refused: the statement itself tells
    its error, in its own words and place.
    """
    try:
        quote = session.quote(statement)
    except errors.Error:
        return None
    return question(quote) if quote.epsilon and quote.is_covered else None


def question(quote: Quote) -> str:
    """Returns the question about a price.

    What is left is rounded down, so that the question never promises more than there is. Where
    several budgets pay, each is named.

    >>> from sqlpriv.kernel.terms.budget import Epsilon
    >>> from sqlpriv.session.access.quote import Charge
    >>> half, three = Epsilon.at_most(0.5), Epsilon.at_most(3.0)
    >>> question(Quote((Charge("people", half, three, 0.0),)))
    'This spends ε 0.50 of 3.00 left. Run? [y/N] '
    """
    parts = []
    for charge in quote.charges:
        left = int(charge.epsilon_left * 100 + 1e-3) / 100
        epsilon = charge.epsilon
        amount = f"{epsilon:.2f}" if epsilon >= 0.01 else f"{epsilon:.2g}"
        of_whom = f" to {charge.unit_table}" if len(quote.charges) > 1 else ""
        parts.append(f"ε {amount} of {left:.2f} left{of_whom}")
    return f"This spends {' and '.join(parts)}. Run? [y/N] "
