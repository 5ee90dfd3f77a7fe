"""Asks one server for everything, again and again, with the smallest receive buffer there is, and reads nothing.

A connection that the server cuts off is seen when its bytes are read at last: the answer's end is not among them.

usage: slow_reader.py HOST PORT TOKEN SECONDS PAUSE    prints how often it was cut off, and how often not
"""
import json
import socket
import sys
import time

host, port, token, seconds, pause = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4]), float(sys.argv[5])
params = {"query": "word", "k": 60, "candidateK": 100, "_meta": {"progressToken": "slow"}}
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "retrieve", "params": params})
request = (
    f"POST /rcp/retrieve HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n"
    f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
).encode()

cuts = whole = 0
ends = time.monotonic() + seconds
while time.monotonic() < ends:
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.connect((host, port))
    reader.sendall(request)
    time.sleep(pause)
    received = b""
    try:
        while piece := reader.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    reader.close()
    if received.endswith(b"0\r\n\r\n"):
        whole += 1
    else:
        cuts += 1
print(cuts, whole)
