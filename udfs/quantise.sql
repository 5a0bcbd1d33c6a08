-- Claim: the result is NULL or an integer in [-steps, steps], whatever double x is.
-- The inner clamp keeps the cast from failing; the outer one is the one that the sensitivity proof
-- is about: it does not rest on how doubles round.
CREATE TEMP MACRO sqlpriv_quantise(x, middle, step, steps) AS
    sqlpriv_clamp(
        CAST(round(sqlpriv_clamp((sqlpriv_number(x) - middle) / step, -1e15::DOUBLE, 1e15::DOUBLE))
             AS BIGINT),
        -steps, steps);
