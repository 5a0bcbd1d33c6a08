-- Claim: the result is NULL (for NULL) or an integer in [0, number of edges]; NaN would be the top
-- bin, so real arguments pass through `number` first.
-- Bin i holds edge[i] <= x < edge[i + 1]: as many edges as are at most x.
CREATE TEMP MACRO sqlpriv_bin(x, edges) AS
    CASE WHEN x IS NULL THEN NULL ELSE len(list_filter(edges, lambda e: e <= x)) END;
