-- Claim: the result is NULL or a double that is not NaN (an infinity may remain).
CREATE MACRO sqlpriv_number(x) AS
    CASE WHEN isnan(x) THEN NULL ELSE x END;
