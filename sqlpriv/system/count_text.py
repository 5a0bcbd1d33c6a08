"""Numbers with the thing that they count, as people write them."""


def count_text(number: int, noun: str, plural: str = "") -> str:
    """Returns a number and its noun; `plural` is what stands for several, else the noun and an s.

    >>> count_text(1, "row"), count_text(4000, "row"), count_text(2, "stratum", "strata")
    ('1 row', '4000 rows', '2 strata')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
