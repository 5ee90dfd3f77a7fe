"""Keeps connections open whose bodies come a byte a second, and opens each anew when the server ends it.

usage: slow_bodies.py HOST PORT TOKEN SECONDS CONNECTIONS    prints how many were cut off with 408, and how many in another way
"""
import asyncio
import sys
import time

host, port, token, seconds, connections = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4]), int(sys.argv[5])
head = (
    f"POST /rcp/retrieve HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
).encode()
ends = time.monotonic() + seconds
cuts = others = 0


async def body(number):
    global cuts, others
    await asyncio.sleep(number / connections)
    while time.monotonic() < ends:
        answer = b""
        try:
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(head + b'{"jsonrpc":"2.0",' + b" " * 10_000)
            reading = asyncio.ensure_future(reader.read())
            while not reading.done() and time.monotonic() < ends:
                writer.write(b" ")
                await asyncio.wait([reading], timeout=1)
            writer.close()
            if not reading.done():
                reading.cancel()
                return
            answer = reading.result()
        except OSError:
            await asyncio.sleep(0.1)
        if answer.startswith(b"HTTP/1.1 408 "):
            cuts += 1
        else:
            others += 1


async def main():
    await asyncio.gather(*(body(number) for number in range(connections)))


asyncio.run(main())
print(cuts, others)
