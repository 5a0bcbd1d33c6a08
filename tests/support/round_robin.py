"""A balancer as simple as there is: each connection goes to the next server in turn."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress


class RoundRobin:
    """Listens on a free port of 127.0.0.1 until it is closed.

    Args:
        ports: Of the servers, on 127.0.0.1.

    Attributes:
        port: Its own.
        taken: How many connections each server was given.
    """

    def __init__(self, ports):
        self._ports, self.taken = ports, [0] * len(ports)
        self._loop, self._next = asyncio.new_event_loop(), 0
        self._loop.set_exception_handler(lambda *_: None)  # of clients that hang up
        start = asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._server = self._loop.run_until_complete(start)
        self.port = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def close(self):
        """Ends every connection."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self):
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _accept(self, reader, writer):
        server = self._next
        self._next = (server + 1) % len(self._ports)
        self.taken[server] += 1
        there = await asyncio.open_connection("127.0.0.1", self._ports[server])
        await asyncio.gather(pass_on(reader, there[1]), pass_on(there[0], writer))


async def pass_on(source, sink):
    """Passes bytes on until the source ends."""
    with suppress(ConnectionError):
        while data := await source.read(1 << 16):
            sink.write(data)
            await sink.drain()
    sink.close()
