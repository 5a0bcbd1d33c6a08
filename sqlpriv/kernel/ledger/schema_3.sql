-- Version 3, over schema_2.sql, held logins of a server as well: the table `login`, its index, its triggers and the view `user`.
-- They stand in a file of their own now. The kernel never read them and ignores them in a ledger that has them (file.py).
PRAGMA user_version = 3;
