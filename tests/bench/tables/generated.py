"""Two generated tables that no method or rule was chosen on, by name, as `declared.py` reads files.

`clinic` has twelve columns of many types: zero-inflated stays, costs and balances (some below 0),
NULLs, dates, a BOOLEAN. `shop` has two lists of 300 labels by Zipf's law, each with a coarser
column that follows from it, amounts, and half of its returns depend on the product.
"""

from __future__ import annotations

ROWS = 20_000
MOST_LABELS = 300
"""Of a text column."""
_UNIFORM = "((hash(i, {}) % 1000000 + 0.5) / 1000000)"


def _draw(number: int) -> str:
    return _UNIFORM.format(number)


def _normal(number: int) -> str:
    return f"(sqrt(-2 * ln({_draw(number)})) * cos(6.2831853 * {_draw(number + 500)}))"


_CLINIC = f"""
WITH a AS (SELECT i, least(98, greatest(0, (52 + 21 * {_normal(1)})::INT))::SMALLINT AS age,
        CASE WHEN {_draw(2)} < 0.47 THEN 'm' ELSE 'f' END AS sex,
        floor(8 * pow({_draw(3)}, 1.7))::INT AS ward_number,
        DATE '2021-01-04' + (7 * floor(200 * {_draw(4)}) + floor(5 * {_draw(5)}))::INT AS admitted
    FROM range({ROWS}) r(i)),
b AS (SELECT *, 'ward ' || chr(65 + ward_number) AS ward,
        CASE WHEN age >= 65 AND {_draw(6)} < 0.9 THEN 'state' WHEN {_draw(7)} < 0.6 THEN 'firm'
             WHEN {_draw(8)} < 0.5 THEN 'own' ELSE 'none' END AS payer,
        CASE WHEN {_draw(9)} < 0.35 + 0.05 * ward_number THEN 0
             ELSE ceil(exp(0.8 + age / 80.0 + 0.7 * {_normal(10)})) END::INT AS stay,
        CASE WHEN {_draw(11)} < 0.2 THEN NULL ELSE {_draw(12)} < 0.15 + 0.25 * (age < 50)::INT END
            AS smokes
    FROM a),
c AS (SELECT *, CASE WHEN stay = 0 AND {_draw(13)} < 0.7 THEN 0
             ELSE least(90000, 180 * (1 + stay) * exp(0.6 * {_normal(14)})) END::DECIMAL(9, 2)
            AS cost,
        CASE WHEN {_draw(15)} < 0.55 THEN 0
             ELSE floor(1 - 2.5 * ln({_draw(16)}) * (1 + (smokes IS TRUE)::INT)) END::INT AS visits,
        CASE WHEN {_draw(17)} < 0.12 THEN NULL ELSE 120 + 0.3 * age + 14 * {_normal(18)} END::DOUBLE
            AS pressure
    FROM b)
SELECT i AS file_row_number, age, sex, ward, payer, admitted, stay, smokes, cost, visits, pressure,
    CASE WHEN payer = 'state' OR {_draw(19)} < 0.6 THEN 0
         ELSE round(cost * (0.4 - {_draw(20)}), 2) END::DECIMAL(9, 2) AS balance,
    ({_draw(21)} < 1 / (1 + exp(3.2 - age / 50.0 - 0.12 * stay - 0.3 * visits)))::INT AS again
FROM c"""
_SHOP = f"""
WITH a AS (SELECT i, floor(300 * pow({_draw(31)}, 3))::INT AS product_number,
        floor(300 * pow({_draw(32)}, 2.2))::INT AS town_number
    FROM range({ROWS}) r(i)),
b AS (SELECT *, 'p' || lpad(product_number::VARCHAR, 3, '0') AS product,
        't' || lpad(town_number::VARCHAR, 3, '0') AS town,
        'kind ' || (CASE WHEN {_draw(33)} < 0.95 THEN product_number // 25
                         ELSE floor(12 * {_draw(34)}) END)::INT AS kind,
        'region ' || (town_number // 30) AS region,
        (['web', 'shop', 'phone'][1 + ((town_number + floor(2 * {_draw(35)}))::INT % 3)])
            AS channel
    FROM a)
SELECT i AS file_row_number, product, town, kind, region, channel,
    (3 + product_number % 40 + 0.99)::DECIMAL(8, 2) AS price,
    floor(1 - 1.4 * ln({_draw(36)}))::INT AS pieces,
    CASE WHEN {_draw(37)} < 0.7 THEN 0 ELSE 5 * ceil(6 * {_draw(38)}) END::INT AS discount,
    ({_draw(39)} < 0.08 + 0.3 * (product_number % 5 = 1)::INT + 0.15 * (channel = 'web')::INT)::INT
        AS returned
FROM b"""
GENERATED = {"clinic": _CLINIC, "shop": _SHOP}
"""The SELECT of each, `file_row_number` among its columns."""
OUTCOMES = {"clinic": ("again", "ward"), "shop": ("returned", "channel")}
"""As `declared.OUTCOMES`."""
