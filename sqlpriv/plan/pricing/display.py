"""How a price is shown to people."""

from sqlpriv.kernel.terms.budget import Price, Rho, epsilon_of


def epsilon_shown(price: Price, delta: float) -> float:
    """Returns the epsilon that a price is shown as: at `delta` for rho, as it is for epsilon."""
    return epsilon_of(price, delta) if isinstance(price, Rho) else price.value
