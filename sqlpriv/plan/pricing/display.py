"""How a price is shown to people."""

from decimal import ROUND_CEILING, Context

from sqlpriv.kernel.terms.budget import MAX_NANO, Price, Rho, epsilon_of


def epsilon_shown(price: Price, delta: float) -> float:
    """Returns the epsilon that a price is shown as: at `delta` for rho, as it is for epsilon.

    Rho is a whole number of 1e-9, rounded down, so a price of epsilon 0.1 is a rho whose epsilon
    is 0.0999997. The next rho's is 0.1000001. Shown is the shortest decimal from the one up to the
    other: it is never less than what is lost, and whoever asks for it pays this very rho.

    >>> from sqlpriv.kernel.terms.budget import rho_of
    >>> epsilon_of(rho_of(0.1, 1e-9), 1e-9) < 0.1
    True
    >>> epsilon_shown(rho_of(0.1, 1e-9), 1e-9)
    0.1
    """
    if not isinstance(price, Rho):
        return price.value
    exact = epsilon_of(price, delta)
    if price.nano in (0, MAX_NANO):
        return exact
    following = epsilon_of(Rho(price.nano + 1), delta)
    for digits in range(1, 17):
        rounded = float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(exact))
        if exact <= rounded < following:
            return rounded
    return exact
