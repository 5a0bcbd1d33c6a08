"""The vault that the suites are run on: generated people and their visits, and a public table."""

from __future__ import annotations

from pathlib import Path

import duckdb

from sqlpriv.session.session import Session

TABLES = """
CREATE TABLE people AS SELECT i AS id,
    CASE WHEN i % 5 < 2 THEN 'F' ELSE 'M' END AS sex,
    ['none', 'school', 'college', 'master'][1 + (i * 7 % 11) % 4] AS educ,
    ['north', 'south', 'west'][1 + (i * 3 % 7) % 3] AS region,
    (2018 + i % 6)::INTEGER AS year,
    (i * 37 % 100)::INTEGER AS age,
    (i * 13 % 61)::INTEGER AS hours,
    (i * 7919 % 1000)::DOUBLE AS income,
    i % 7 < 3 AS employed
FROM range(1, 2001) AS t(i);
CREATE TABLE visits AS SELECT i AS id, 1 + i % 500 AS person, (i // 3 % 5)::INTEGER AS ward
FROM range(1500) AS t(i);
CREATE TABLE stays AS SELECT i AS id, 1 + i % 400 AS person, (i // 5 % 4)::INTEGER AS ward,
    DATE '2023-01-01' + (i * 37 % 90)::INTEGER AS day,
    TIMESTAMP '2023-01-01 06:00:00' + to_minutes(i * 7919 % 129600) AS arrived
FROM range(1200) AS t(i);
CREATE TYPE step AS ENUM ('seen', 'basket', 'paid');
CREATE TABLE events AS SELECT i AS id, 1 + i % 300 AS person,
    (['seen', 'basket', 'paid'])[1 + (i * 7 % 13) % 3]::step AS step,
    CASE WHEN i % 17 > 0 THEN ((i * 37 % 2001) - 1000)::DECIMAL(9, 2) / 4 END AS amount,
    CASE i % 19 WHEN 0 THEN NULL WHEN 1 THEN 'NaN'::DOUBLE ELSE (i * 31 % 101) / 8.0 - 4 END
        AS score,
    CASE WHEN i % 23 = 0 THEN NULL WHEN i % 11 = 0 THEN ''
        ELSE ['web', 'app', 'shop'][1 + i % 3] END AS source,
    TIMESTAMP '2024-02-27 23:00:00' + to_minutes(i * 7919 % 11520) AS seen_at,
    (i * 13 % 7 - 3)::HUGEINT AS change,
    TIME '00:00:00' + to_minutes(i * 61 % 1440) AS clock,
    CASE WHEN i % 13 = 0 THEN NULL ELSE i % 4 = 0 END AS mobile
FROM range(1500) AS t(i);
CREATE TABLE sources AS SELECT * FROM (VALUES
    ('web', 'online', 3, DATE '2020-05-01'), ('app', 'online', 5, DATE '2021-01-15'),
    ('shop', 'street', 2, DATE '2019-12-31'), ('mail', 'street', 7, NULL)
) AS v (source, channel, fee, since);
CREATE TABLE regions AS
SELECT * FROM (VALUES ('north', 900), ('south', 700), ('west', 400)) AS v (region, inhabitants);
CREATE TYPE mood AS ENUM ('zorn', 'ruhe', 'angst');
CREATE TABLE odd AS SELECT i AS id, i % 211 AS u,
    CASE WHEN i % 29 = 0 THEN NULL ELSE (i * 37 % 41) - 20 END AS neg,
    ((i * 53 % 997) - 498)::DECIMAL(12,3) / 8 AS dec3,
    CASE WHEN i % 31 = 0 THEN NULL ELSE ((i * 7 % 200) / 100.0 - 1)::DECIMAL(5, 2)
        END AS rate,
    ((i * 17 % 301) / 7.0 - 20)::FLOAT AS f4,
    (i % 255)::UTINYINT AS u1, (i * 3 % 1000)::USMALLINT AS u2,
    (i * 100003 % 1000003 - 500000)::BIGINT AS big,
    DATE '1968-12-20' + (i * 97 % 760)::INTEGER AS d,
    TIMESTAMP '1969-12-30 20:00:00' + to_seconds(i * 7919 % 400000) AS ts,
    (TIMESTAMP '2024-10-26 20:00:00' + to_minutes(i * 101 % 3000))::TIMESTAMPTZ AS tz,
    (['zorn', 'ruhe', 'angst', NULL])[1 + i % 4]::mood AS m,
    (['Ä', 'ä', 'a', 'A', ' a', 'a ', '', NULL, 'ß', '%', '_', 'a''b'])
        [1 + i * 5 % 12] AS s,
    CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END AS b
FROM range(1, 1056) t(i);
CREATE TABLE moods AS SELECT * FROM (VALUES
    ('zorn'::mood, 1.25::DECIMAL(6, 2), 'Ä'), ('ruhe', 0.10, 'a'), ('angst', 7.00, NULL),
    (NULL, 3.33, '')
) AS v (m, p, s);
CREATE TABLE customers AS SELECT i AS cid, ['DE', 'FR', 'US'][1 + i % 3] AS country,
    (1950 + i % 50)::INTEGER AS born, ['gold', 'silver', NULL][1 + i * 7 % 3] AS tier
FROM range(1, 401) AS t(i);
CREATE TABLE sales AS SELECT i AS sid, 1 + i * 17 % 400 AS cid, (1 + i % 20)::INTEGER AS pid,
    (1 + i * 3 % 4)::INTEGER AS store, DATE '2022-01-01' + (i * 29 % 730)::INTEGER AS sold,
    (1 + i % 5)::INTEGER AS qty, ((i * 131 % 9901) / 100.0)::DECIMAL(10, 2) AS price,
    CASE WHEN i % 6 > 0 THEN (i % 4) * 5 END::INTEGER AS discount,
    ['web', 'shop', 'phone'][1 + i * 5 % 3] AS channel
FROM range(1, 1201) AS t(i);
CREATE TABLE products AS SELECT i::INTEGER AS pid, 'p' || i AS pname,
    ['toys', 'food', 'books', 'tools'][1 + i % 4] AS category, (i * 1.25)::DECIMAL(8, 2) AS cost
FROM range(1, 21) AS t(i);
CREATE TABLE stores AS SELECT * FROM (VALUES
    (1, 'Berlin', 'DE'), (2, 'Paris', 'FR'), (3, 'Boston', 'US'), (4, 'Bonn', 'DE')
) AS v (store, city, state);
CREATE TABLE days AS SELECT d, year(d)::INTEGER AS y, month(d)::INTEGER AS moy, dayname(d) AS dname
FROM (SELECT DATE '2022-01-01' + i::INTEGER AS d FROM range(730) AS t(i));
CREATE TYPE level AS ENUM ('pro', 'free', 'team');
CREATE TABLE members AS SELECT md5(i::VARCHAR)::UUID AS mid,
    (['pro', 'free', 'team', NULL])[1 + i * 3 % 4]::level AS level,
    (['it''s', 'a "b"', 'x;y', 'back\\slash', '', NULL])[1 + i * 5 % 6] AS nick,
    DATE '1940-03-01' + (i * 211 % 25000)::INTEGER AS born,
    (TIMESTAMP '2023-03-25 12:00:00' + to_minutes(i * 97 % 4320))::TIMESTAMPTZ AS joined,
    CASE WHEN i % 9 > 0 THEN ((i * 7919 % 20001) - 10000)::DECIMAL(14, 2) / 4 END::DECIMAL(14, 4)
        AS balance,
    (i * 97 % 1001 - 500)::HUGEINT * 1000 AS points,
    CASE i % 8 WHEN 0 THEN NULL ELSE i % 3 = 0 END AS active,
    CASE WHEN i % 10 > 0 THEN TIME '05:00:00' + to_minutes(i * 7 % 180) END AS wakes
FROM range(1, 601) AS t(i);
CREATE TABLE logins AS SELECT i AS lid, md5((1 + i % 500)::VARCHAR)::UUID AS mid,
    TIMESTAMP '2023-12-29 00:00:00' + to_seconds(i * 7919 % 864000) AS seen,
    (['phone', 'web', NULL, 'tv''s'])[1 + i * 7 % 4] AS device,
    CASE WHEN i % 11 > 0 THEN i * 31 % 3600 END::INTEGER AS secs, i % 5 > 0 AS ok
FROM range(1, 1501) AS t(i);
CREATE TABLE baskets AS SELECT i AS bid, (1 + i * 7 % 1500)::BIGINT AS lid,
    (['tea', 'jam', 'o''il', 'salt'])[1 + i * 11 % 4] AS item, (i % 4)::SMALLINT AS qty,
    CASE WHEN i % 7 > 0 THEN (i * 37 % 5000)::DECIMAL(8, 2) / 100 END::DECIMAL(8, 2) AS paid,
    DATE '2023-12-29' + (i * 5 % 12)::INTEGER AS day
FROM range(1, 3001) AS t(i);
CREATE TABLE items AS SELECT * FROM (VALUES ('tea', 'drink', 2.50::DECIMAL(6, 2), 0.07::DOUBLE),
    ('jam', 'food', 3.25, 0.07), ('o''il', 'food', 8.00, 0.19), ('rope', NULL, 4.10, 0.19)
) AS v (item, kind, price, tax);
"""
DECLARATIONS = """
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('F', 'M');
ALTER TABLE people ALTER COLUMN educ SET PRIVACY DOMAIN IN ('none', 'school', 'college', 'master');
ALTER TABLE people ALTER COLUMN region SET PRIVACY DOMAIN IN ('north', 'south', 'west');
ALTER TABLE people ALTER COLUMN year SET PRIVACY DOMAIN BETWEEN (2018, 2023);
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN (0, 99);
ALTER TABLE people ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN (0, 60);
ALTER TABLE people ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN (0, 1000);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 100000, delta = 1e-9);
ALTER TABLE visits ADD PRIVACY_KEY (person);
ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN BETWEEN (0, 4);
ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 3, groups_per_unit = 3);
ALTER TABLE visits SET PU;
ALTER TABLE visits SET PRIVACY BUDGET (epsilon = 100000, delta = 1e-9);
ALTER TABLE stays ADD PRIMARY KEY (id);
ALTER TABLE stays ADD PRIVACY_KEY (person);
ALTER TABLE stays ALTER COLUMN ward SET PRIVACY DOMAIN BETWEEN (0, 3);
ALTER TABLE stays ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN ('2023-01-01', '2023-03-31') NOT NULL;
ALTER TABLE stays ALTER COLUMN arrived SET PRIVACY DOMAIN
    BETWEEN ('2023-01-01', '2023-04-05') NOT NULL;
ALTER TABLE stays SET PRIVACY BOUND (rows_per_unit = 3, groups_per_unit = 3);
ALTER TABLE stays SET PU;
ALTER TABLE stays SET PRIVACY BUDGET (epsilon = 100000, delta = 1e-9);
ALTER TABLE events ADD PRIVACY_KEY (person);
ALTER TABLE events ALTER COLUMN step SET PRIVACY DOMAIN IN ('seen', 'basket', 'paid');
ALTER TABLE events ALTER COLUMN amount SET PRIVACY DOMAIN BETWEEN (-250, 250);
ALTER TABLE events ALTER COLUMN score SET PRIVACY DOMAIN BETWEEN (-4, 9);
ALTER TABLE events ALTER COLUMN source SET PRIVACY DOMAIN IN ('web', 'app', 'shop', '', NULL);
ALTER TABLE events ALTER COLUMN seen_at SET PRIVACY DOMAIN
    BETWEEN ('2024-02-27', '2024-03-08') NOT NULL;
ALTER TABLE events ALTER COLUMN change SET PRIVACY DOMAIN BETWEEN (-3, 3);
ALTER TABLE events SET PRIVACY BOUND (rows_per_unit = 5, groups_per_unit = 5);
ALTER TABLE events SET PU;
ALTER TABLE events SET PRIVACY BUDGET (epsilon = 100000, delta = 1e-9);
ALTER TABLE odd ADD PRIMARY KEY (id);
ALTER TABLE odd ADD PRIVACY_KEY (u);
ALTER TABLE odd ALTER COLUMN neg SET PRIVACY DOMAIN BETWEEN (-20, 20);
ALTER TABLE odd ALTER COLUMN dec3 SET PRIVACY DOMAIN BETWEEN (-63, 63);
ALTER TABLE odd ALTER COLUMN rate SET PRIVACY DOMAIN BETWEEN (-1, 1);
ALTER TABLE odd ALTER COLUMN f4 SET PRIVACY DOMAIN BETWEEN (-20, 23);
ALTER TABLE odd ALTER COLUMN u1 SET PRIVACY DOMAIN BETWEEN (0, 255);
ALTER TABLE odd ALTER COLUMN u2 SET PRIVACY DOMAIN BETWEEN (0, 999);
ALTER TABLE odd ALTER COLUMN big SET PRIVACY DOMAIN BETWEEN (-500000, 500003);
ALTER TABLE odd ALTER COLUMN d SET PRIVACY DOMAIN BETWEEN ('1968-12-20', '1971-01-18')
    NOT NULL;
ALTER TABLE odd ALTER COLUMN ts SET PRIVACY DOMAIN BETWEEN ('1969-12-30', '1970-01-05')
    NOT NULL;
ALTER TABLE odd ALTER COLUMN tz SET PRIVACY DOMAIN BETWEEN ('2024-10-26', '2024-10-29')
    NOT NULL;
ALTER TABLE odd ALTER COLUMN m SET PRIVACY DOMAIN IN ('zorn', 'ruhe', 'angst', NULL);
ALTER TABLE odd ALTER COLUMN s SET PRIVACY DOMAIN IN
    ('Ä', 'ä', 'a', 'A', ' a', 'a ', '', NULL, 'ß', '%', '_', 'a''b');
ALTER TABLE odd SET PRIVACY BOUND (rows_per_unit = 5, groups_per_unit = 1);
ALTER TABLE odd SET PU;
ALTER TABLE odd SET PRIVACY BUDGET (epsilon = 100000, delta = 1e-9);
ALTER TABLE moods SET PUBLIC;
ALTER TABLE sources SET PUBLIC;
ALTER TABLE regions SET PUBLIC;
ALTER TABLE customers ADD PRIMARY KEY (cid);
ALTER TABLE customers ADD PRIVACY_KEY (cid);
ALTER TABLE customers SET PU;
ALTER TABLE customers SET PRIVACY BUDGET (epsilon = 100000, delta = 1e-9);
ALTER TABLE customers ALTER COLUMN country SET PRIVACY DOMAIN IN ('DE', 'FR', 'US');
ALTER TABLE customers ALTER COLUMN tier SET PRIVACY DOMAIN IN ('gold', 'silver', NULL);
ALTER TABLE customers ALTER COLUMN born SET PRIVACY DOMAIN BETWEEN (1950, 1999);
ALTER TABLE sales ADD PRIMARY KEY (sid);
ALTER TABLE sales SET PRIVACY BOUND (rows_per_unit = 3, groups_per_unit = 3);
ALTER TABLE sales ADD PRIVACY_LINK (cid) REFERENCES customers (cid);
ALTER TABLE sales ALTER COLUMN channel SET PRIVACY DOMAIN IN ('phone', 'shop', 'web');
ALTER TABLE sales ALTER COLUMN pid SET PRIVACY DOMAIN BETWEEN (1, 20);
ALTER TABLE sales ALTER COLUMN store SET PRIVACY DOMAIN BETWEEN (1, 4);
ALTER TABLE sales ALTER COLUMN sold SET PRIVACY DOMAIN BETWEEN ('2022-01-01', '2023-12-31');
ALTER TABLE sales ALTER COLUMN qty SET PRIVACY DOMAIN BETWEEN (1, 5);
ALTER TABLE sales ALTER COLUMN price SET PRIVACY DOMAIN BETWEEN (0, 100);
ALTER TABLE sales ALTER COLUMN discount SET PRIVACY DOMAIN BETWEEN (0, 15) OR NULL;
ALTER TABLE products SET PUBLIC;
ALTER TABLE stores SET PUBLIC;
ALTER TABLE days SET PUBLIC;
ALTER TABLE members ADD PRIMARY KEY (mid);
ALTER TABLE members ADD PRIVACY_KEY (mid);
ALTER TABLE members SET PU;
ALTER TABLE members SET PRIVACY BUDGET (epsilon = 100000, delta = 1e-9);
ALTER TABLE members ALTER COLUMN level SET PRIVACY DOMAIN IN ('pro', 'free', 'team', NULL);
ALTER TABLE members ALTER COLUMN nick SET PRIVACY DOMAIN IN
    ('it''s', 'a "b"', 'x;y', 'back\\slash', '', NULL);
ALTER TABLE members ALTER COLUMN born SET PRIVACY DOMAIN BETWEEN ('1940-03-01', '2008-08-31');
ALTER TABLE members ALTER COLUMN joined SET PRIVACY DOMAIN
    BETWEEN ('2023-03-25', '2023-03-29') NOT NULL;
ALTER TABLE members ALTER COLUMN balance SET PRIVACY DOMAIN BETWEEN (-2500, 2500) OR NULL;
ALTER TABLE members ALTER COLUMN wakes SET PRIVACY DOMAIN
    BETWEEN (TIME '05:00:00', TIME '07:59:00') OR NULL;
ALTER TABLE members ALTER COLUMN points SET PRIVACY DOMAIN BETWEEN (-500000, 500000);
ALTER TABLE logins ADD PRIMARY KEY (lid);
ALTER TABLE logins SET PRIVACY BOUND (rows_per_unit = 3, groups_per_unit = 3);
ALTER TABLE logins ADD PRIVACY_LINK (mid) REFERENCES members (mid);
ALTER TABLE logins ALTER COLUMN seen SET PRIVACY DOMAIN BETWEEN ('2023-12-29', '2024-01-08')
    NOT NULL;
ALTER TABLE logins ALTER COLUMN device SET PRIVACY DOMAIN IN ('phone', 'web', 'tv''s', NULL);
ALTER TABLE logins ALTER COLUMN secs SET PRIVACY DOMAIN BETWEEN (0, 3599) OR NULL;
ALTER TABLE baskets ADD PRIMARY KEY (bid);
ALTER TABLE baskets SET PRIVACY BOUND (rows_per_unit = 6, groups_per_unit = 6);
ALTER TABLE baskets ADD PRIVACY_LINK (lid) REFERENCES logins (lid);
ALTER TABLE baskets ALTER COLUMN item SET PRIVACY DOMAIN IN ('tea', 'jam', 'o''il', 'salt');
ALTER TABLE baskets ALTER COLUMN qty SET PRIVACY DOMAIN BETWEEN (0, 3);
ALTER TABLE baskets ALTER COLUMN paid SET PRIVACY DOMAIN BETWEEN (0, 50) OR NULL;
ALTER TABLE baskets ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN ('2023-12-29', '2024-01-09');
ALTER TABLE items SET PUBLIC;
"""


def make_vault(path: Path) -> Path:
    """Makes the vault at a path; returns the path."""
    with Session(path, role="owner", principal="owner") as owner:
        owner.execute(TABLES)
        owner.execute(DECLARATIONS)
    return path


def plain_duckdb() -> duckdb.DuckDBPyConnection:
    """Returns a DuckDB that holds the same tables."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(TABLES)
    return connection
