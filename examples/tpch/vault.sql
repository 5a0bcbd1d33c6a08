-- TPC-H with the customer as the unit of privacy. report.py loads the tables; this declares them.
-- What belongs to a customer is private: customer, orders, lineitem. All else is the seller's own.

ALTER TABLE nation SET PUBLIC;
ALTER TABLE region SET PUBLIC;
ALTER TABLE part SET PUBLIC;
ALTER TABLE supplier SET PUBLIC;
ALTER TABLE partsupp SET PUBLIC;

ALTER TABLE customer ADD PRIVACY_KEY (c_custkey);
ALTER TABLE customer SET PU;
ALTER TABLE orders SET PRIVACY BOUND (rows_per_unit = 40);
ALTER TABLE orders ADD PRIVACY_LINK (o_custkey) REFERENCES customer(c_custkey);
ALTER TABLE lineitem SET PRIVACY BOUND (rows_per_unit = 160);
ALTER TABLE lineitem ADD PRIVACY_LINK (l_orderkey) REFERENCES orders(o_orderkey);
ALTER TABLE customer SET PRIVACY BUDGET (rho = 1000000, delta = 1e-9);

-- Domains as the specification of the benchmark states them (clauses 4.2.2 and 4.2.3).
ALTER TABLE nation ALTER COLUMN n_name SET PRIVACY DOMAIN REFERENCES nation(n_name);
ALTER TABLE supplier ALTER COLUMN s_name SET PRIVACY DOMAIN REFERENCES supplier(s_name);
ALTER TABLE customer ALTER COLUMN c_acctbal SET PRIVACY DOMAIN BETWEEN (-999.99, 9999.99) NOT NULL;
ALTER TABLE customer ALTER COLUMN c_mktsegment SET PRIVACY DOMAIN
    IN ('AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY') NOT NULL;
ALTER TABLE orders ALTER COLUMN o_orderpriority SET PRIVACY DOMAIN
    IN ('1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW') NOT NULL;
ALTER TABLE orders ALTER COLUMN o_orderstatus SET PRIVACY DOMAIN IN ('F', 'O', 'P') NOT NULL;
ALTER TABLE orders ALTER COLUMN o_orderdate SET PRIVACY DOMAIN
    BETWEEN ('1992-01-01', '1998-08-02') NOT NULL;
ALTER TABLE orders ALTER COLUMN o_totalprice SET PRIVACY DOMAIN BETWEEN (0, 600000) NOT NULL;
ALTER TABLE lineitem ALTER COLUMN l_quantity SET PRIVACY DOMAIN BETWEEN (1, 50) NOT NULL;
ALTER TABLE lineitem ALTER COLUMN l_extendedprice SET PRIVACY DOMAIN
    BETWEEN (900, 105000) NOT NULL;
ALTER TABLE lineitem ALTER COLUMN l_discount SET PRIVACY DOMAIN BETWEEN (0, 0.10) NOT NULL;
ALTER TABLE lineitem ALTER COLUMN l_tax SET PRIVACY DOMAIN BETWEEN (0, 0.08) NOT NULL;
ALTER TABLE lineitem ALTER COLUMN l_returnflag SET PRIVACY DOMAIN IN ('A', 'N', 'R') NOT NULL;
ALTER TABLE lineitem ALTER COLUMN l_linestatus SET PRIVACY DOMAIN IN ('F', 'O') NOT NULL;
ALTER TABLE lineitem ALTER COLUMN l_shipmode SET PRIVACY DOMAIN
    IN ('AIR', 'FOB', 'MAIL', 'RAIL', 'REG AIR', 'SHIP', 'TRUCK') NOT NULL;
ALTER TABLE lineitem ALTER COLUMN l_shipdate SET PRIVACY DOMAIN
    BETWEEN ('1992-01-01', '1998-12-31') NOT NULL;
ALTER TABLE lineitem ALTER COLUMN l_suppkey SET PRIVACY DOMAIN REFERENCES supplier(s_suppkey);
ALTER TABLE lineitem ALTER COLUMN l_partkey SET PRIVACY DOMAIN REFERENCES part(p_partkey);
ALTER TABLE partsupp ALTER COLUMN ps_supplycost SET PRIVACY DOMAIN BETWEEN (1, 1000) NOT NULL;
