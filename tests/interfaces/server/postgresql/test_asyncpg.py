"""asyncpg: prepared statements, every value binary, columns and parameters told beforehand."""

import asyncio
import ssl

import pytest

asyncpg = pytest.importorskip("asyncpg")

PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1)"


def connected(served, work):
    """Runs work on a connection of asyncpg's own."""

    async def run():
        known = served.postgresql()
        context = ssl.create_default_context(cafile=known["sslrootcert"])
        connection = await asyncpg.connect(
            host="127.0.0.1",
            port=known["port"],
            user="ada",
            password=known["password"],
            database="people",
            ssl=context,
            timeout=30,
        )
        try:
            return await work(connection)
        finally:
            await connection.close()

    return asyncio.run(run())


def test_a_prepared_statement_is_described_for_nothing_and_charged_once(served):
    before = served.account()

    async def work(connection):
        statement = await connection.prepare(
            f"{PRICED} sex, COUNT(*) AS n FROM people WHERE income > $1 GROUP BY sex ORDER BY sex"
        )
        names = [column.name for column in statement.get_attributes()]
        kinds = [kind.name for kind in statement.get_parameters()]
        described = served.account()
        first = await statement.fetch(30.0)
        return names, kinds, described, first, await statement.fetch(30.0)

    names, kinds, described, first, again = connected(served, work)
    assert (names, kinds) == (["sex", "n"], ["float8"])
    assert described == before
    assert [row["sex"] for row in first] == [1, 2]
    assert first == again
    assert served.account()[0] == before[0] + 1


def test_cursors_transactions_resets_and_the_catalog(served):
    async def work(connection):
        async with connection.transaction():
            parts = [row async for row in connection.cursor("SELECT sex FROM made", prefetch=200)]
        tables = await connection.fetch(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = $1 ORDER BY 1",
            "public",
        )
        await connection.reset()
        version = connection.get_server_version()
        with pytest.raises(asyncpg.PostgresError) as refused:
            await connection.fetch("SELECT secret FROM people WHERE sex = 1")
        return parts, [row[0] for row in tables], version.major, refused.value

    parts, tables, major, refused = connected(served, work)
    assert len(parts) == 500
    assert tables == ["made", "people"]
    assert major == 15
    assert refused.sqlstate == "42000"
    assert refused.hint


def test_copy_from_query(served, tmp_path):
    target = tmp_path / "made.csv"

    async def work(connection):
        return await connection.copy_from_query(
            "SELECT sex, income FROM made LIMIT 7", output=str(target), format="csv", header=True
        )

    assert connected(served, work) == "COPY 7"
    assert len(target.read_text().splitlines()) == 8


def test_copy_from_a_query_with_parameters(served, tmp_path):
    """asyncpg asks for their literals first; quote_literal was unknown."""
    target = tmp_path / "made.csv"

    async def work(connection):
        query = "SELECT sex FROM made WHERE sex = $1 LIMIT 3"
        return await connection.copy_from_query(query, 1, output=str(target), format="csv")

    assert connected(served, work) == "COPY 3"
    assert target.read_text() == "1\n1\n1\n"


def test_more_statements_than_a_user_may_run_wait_for_one_another(served):
    """Four run at once, twelve connections ask; eight of them were refused."""

    async def work(_):
        known = served.postgresql()
        pool = asyncpg.create_pool(
            host="127.0.0.1",
            port=known["port"],
            user="ada",
            password=known["password"],
            database="people",
            ssl=ssl.create_default_context(cafile=known["sslrootcert"]),
            min_size=12,
            max_size=12,
        )
        async with pool:
            asked = [pool.fetchval("SELECT $1::int", number) for number in range(12)]
            return await asyncio.gather(*asked)

    assert connected(served, work) == list(range(12))


def test_a_list_is_told_to_be_of_its_columns_type(served):
    async def work(connection):
        question = f"{PRICED} COUNT(*) AS n FROM people WHERE sex = ANY($1) AND id <> ALL($2)"
        statement = await connection.prepare(question)
        kinds = [kind.name for kind in statement.get_parameters()]
        return kinds, [await statement.fetchval(sexes, [7]) for sexes in ([1, 2], [1, 2], [1], [])]

    kinds, (both, again, ones, none) = connected(served, work)
    assert kinds == ["int4[]", "int8[]"]
    assert both == again
    assert both - ones > 50  # of 500, half are of either sex; both have a noise of 1 / 0.1
    assert abs(none) < 250
