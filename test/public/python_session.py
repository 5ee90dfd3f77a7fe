"""One client's day with the Python SDK. Prints a line for each step; each has five seconds.

usage: python_session.py stdio|http TARGET    (a command line, or a base URL)
       python_session.py stdio|http TARGET refused CODE    (a server that this client cannot use)
"""
import shlex
import signal
import sys

import rcp


def give_up(_signal, _frame):
    raise TimeoutError("a step took more than five seconds")


def step(name, work):
    signal.alarm(5)
    result = work()
    signal.alarm(0)
    print(name, flush=True)
    return result


def connect(kind, target):
    return rcp.connect_stdio(shlex.split(target)) if kind == "stdio" else rcp.connect_http(target)


def refused(kind, target, code):
    try:
        connect(kind, target).retrieve("amber", 1)
    except rcp.RcpError as error:
        assert error.code == code, error
    else:
        raise AssertionError("nothing was refused")


def day(kind, target):
    client = step("handshake", lambda: connect(kind, target))
    assert client.server["name"] == "pgrcp", client.server
    documents = [{"id": f"sdk-{n}", "text": f"amber stone {n}", "meta": {"year": 2000 + n}} for n in range(6)]
    added = step("add", lambda: client.index_add({"documents": documents}))
    assert added["ids"] == [document["id"] for document in documents], added

    late = {"field": "year", "op": "gte", "value": 2004}
    hits = step("retrieve with a filter", lambda: client.retrieve("amber stone", 10, {"filter": late}))
    assert sorted(hit["id"] for hit in hits) == ["sdk-4", "sdk-5"], hits

    def pages():
        seen, cursor = [], None
        while True:
            page = client.search("amber stone", 4, {"cursor": cursor} if cursor else {})
            seen += [hit["id"] for hit in page["hits"]]
            cursor = page["next_cursor"]
            if not cursor:
                return seen

    whole = client.retrieve("amber stone", 100)
    assert step("page", pages) == [hit["id"] for hit in whole]

    vectors = step("embed", lambda: client.embed(["amber", "stone"], "query"))
    assert [len(vector) for vector in vectors] == [client.capabilities["embed"]["dimension"]] * 2
    recorded = step("feedback", lambda: client.feedback([{"hitId": "sdk-4", "used": True, "reward": 0.5}], "amber"))
    assert recorded == {"accepted": 1}, recorded
    deleted = step("delete", lambda: client.index_delete({"ids": [document["id"] for document in documents]}))
    assert deleted == {"deleted": 6}, deleted
    step("shutdown", client.shutdown)


signal.signal(signal.SIGALRM, give_up)
kind, target, *rest = sys.argv[1:]
if rest:
    step("refused", lambda: refused(kind, target, int(rest[1])))
else:
    day(kind, target)
