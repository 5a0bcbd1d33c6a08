"""Sixteen clients at once on one budget: nothing is lost, charged twice, or leaked."""

import gc
import os
import random
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import sqlpriv

CLIENTS = 16
TENTH = 100_000_000  # nanos of epsilon = 0.1
PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) COUNT(*) AS n FROM people"


def test_the_last_of_a_budget_is_sold_once(serve):
    """Of 32 questions at 0.1 each, as many are answered as the 2 that are left will pay for."""
    served = serve(concurrency=CLIENTS)
    with served.connect("olga") as owner:
        owner.execute("ALTER TABLE people SET PRIVACY BUDGET (epsilon = 3)")  # 1 is spent
    start = threading.Barrier(CLIENTS)

    def ask(client):
        answered = 0
        with sqlpriv.connect(served.url, token=served.tokens["ada"], ca=served.ca) as connection:
            start.wait()
            for question in range(2):
                try:
                    connection.execute(f"{PRICED} WHERE income > {client * 2 + question}")
                    answered += 1
                except sqlpriv.BudgetExhausted:
                    pass
        return answered

    before = served.account()
    with ThreadPoolExecutor(CLIENTS) as pool:
        answered = sum(pool.map(ask, range(CLIENTS)))
    charges, spent = served.account()
    assert answered == charges - before[0] == (30 * TENTH - before[1]) // TENTH == 20
    assert spent == 30 * TENTH


def soak(served, seconds, sample):
    """Lets 16 clients ask for so long; returns (charges, seconds of replays, samples of memory).

    Each asks what others ask, too, what nobody asked, what is free and what is refused. A client
    now and then hangs up and comes back.
    """
    fresh, replays, memory = [], [], []
    until = time.monotonic() + seconds
    known = [f"{PRICED} WHERE income > {i}" for i in range(8)]

    def client(number):
        chance = random.Random(number)
        connection = sqlpriv.connect(served.url, token=served.tokens["ada"], ca=served.ca)
        asked = 0
        while time.monotonic() < until:
            begun = time.perf_counter()
            match chance.randrange(20):
                case 0:
                    asked += 1
                    connection.execute(f"{PRICED} WHERE income > {number} + {asked} / 1000")
                    fresh.append(1)
                case 1:
                    connection.execute("SELECT sex, COUNT(*) FROM made GROUP BY sex")
                case 2:
                    with pytest.raises(sqlpriv.Refused):
                        connection.execute("SELECT secret FROM people")
                case 3:
                    connection.close()
                    connection = sqlpriv.connect(
                        served.url, token=served.tokens["ada"], ca=served.ca
                    )
                case _:
                    connection.execute(chance.choice(known))
                    replays.append(time.perf_counter() - begun)
        connection.close()

    with sqlpriv.connect(served.url, token=served.tokens["ada"], ca=served.ca) as connection:
        for question in known:
            connection.execute(question)
            fresh.append(1)
    with ThreadPoolExecutor(CLIENTS) as pool:
        running = [pool.submit(client, number) for number in range(CLIENTS)]
        while time.monotonic() < until:
            time.sleep(sample)
            memory.append(resident())
        for each in running:
            each.result()
    return len(fresh), replays, memory


def resident():
    """Bytes of this process, server and clients, that lie in memory."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def check(served, before, charges, replays):
    """Asserts that what was answered is what was paid; shows how long replays took."""
    after = served.account()
    assert after == (before[0] + charges, before[1] + charges * TENTH), "lost or charged twice"
    ordered = sorted(replays)
    median, tail = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
    print(f"{charges} charged, {len(replays)} replayed: median {median:.3f} s, p99 {tail:.3f} s")
    assert len(replays) >= CLIENTS


def rich(serve):
    served = serve(concurrency=CLIENTS)
    with served.connect("olga") as owner:
        owner.execute("ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1e6)")
    return served


def test_sixteen_clients_for_six_seconds(serve):
    served = rich(serve)
    before = served.account()
    charges, replays, _ = soak(served, 6, 1)
    check(served, before, charges, replays)


@pytest.mark.slow
def test_sixteen_clients_for_ten_minutes_in_steady_memory(serve):
    """After the first two minutes memory grows by at most a tenth: its last fifth, to its second.

    A leak of one result set or connection for each of some ten thousand statements would show.
    """
    served = rich(serve)
    before = served.account()
    charges, replays, memory = soak(served, 600, 1)
    check(served, before, charges, replays)
    fifth = len(memory) // 5
    early, late = (statistics.median(memory[i * fifth : (i + 1) * fifth]) for i in (1, 4))
    print(
        f"resident: {early / 1e6:.0f} MB in the third and fourth minute, {late / 1e6:.0f} MB in"
        " the last two"
    )
    assert late <= 1.1 * early
