-- A walk through the shell, over the vault that `sqlpriv demo` makes:
--   sqlpriv shell sqlpriv-demo/people.duckdb -f examples/shell_tour.sql
-- Lines that begin with a dot or a backslash are the shell's own; `.help` lists them all.

.tables
\d people
.budget

-- The price of what follows, told without reading a row. Epsilon is set once for the session.
SET privacy_epsilon = 0.1;
.explain SELECT SEX, COUNT(*) AS n, AVG(WKHP) AS hours FROM people WHERE ESR = 1 STRATIFY BY SEX

-- Every group and, in the last row, everybody, at one price. At a terminal the shell asks first.
SELECT SEX, COUNT(*) AS n, AVG(WKHP) AS hours FROM people WHERE ESR = 1 STRATIFY BY SEX;

-- The same question again is free: a line for each value this time, and how long it took.
\x
.timer on
SELECT SEX, COUNT(*) AS n, AVG(WKHP) AS hours FROM people WHERE ESR = 1 STRATIFY BY SEX;
.timer off

-- For a report, as it is pasted into Markdown.
.mode markdown
SELECT SEX, COUNT(*) AS n, AVG(WKHP) AS hours FROM people WHERE ESR = 1 STRATIFY BY SEX;

-- The synthetic table is public: plain SQL on it costs nothing, and `.synth` says how it was made.
.mode table
.synth people_synth
SELECT RAC1P, COUNT(*) AS n, ROUND(AVG(PINCP)) AS income
FROM people_synth GROUP BY RAC1P ORDER BY n DESC LIMIT 3;
.budget
