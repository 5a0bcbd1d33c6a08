WITH shipped AS (
    SELECT l_partkey, l_suppkey, sum(l_quantity) AS quantity
    FROM lineitem
    WHERE l_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
        AND l_suppkey IN (SELECT s_suppkey FROM supplier, nation
            WHERE s_nationkey = n_nationkey AND n_name = 'CANADA')
        AND l_shipdate >= date '1994-01-01'
        AND l_shipdate < date '1994-01-01' + interval '1' year
    GROUP BY l_partkey, l_suppkey)
SELECT s_name, s_address
FROM supplier, nation
WHERE s_suppkey IN (
        SELECT ps_suppkey FROM partsupp, shipped
        WHERE ps_partkey = l_partkey AND ps_suppkey = l_suppkey
            AND ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
            AND ps_availqty > 0.5 * quantity)
    AND s_nationkey = n_nationkey AND n_name = 'CANADA'
ORDER BY s_name
