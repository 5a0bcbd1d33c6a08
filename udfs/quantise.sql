-- Claim: the result is NULL or an integer in [-steps, steps], whatever double x is.
-- The clamp is on doubles, and its ends are integers below 2^53: rounding, which is monotone, leads
-- nothing beyond them, and the cast cannot fail. NaN, above every number, is NULL before.
CREATE MACRO sqlpriv_quantise(x, middle, step, steps) AS
    CAST(round(sqlpriv_clamp((sqlpriv_number(x) - middle) / step, -steps::DOUBLE, steps::DOUBLE))
         AS BIGINT);
