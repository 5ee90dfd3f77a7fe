"""Asks two corpora of one pgrcp server and fuses their answers with the Python SDK's own reciprocal rank fusion.

usage: fuse_corpora.py URL CA_FILE TOKEN_FILE QUERY
"""
import os
import shlex
import sys

import rcp

url, ca_file, token_file, query = sys.argv[1:]
pgrcp = shlex.split(os.environ.get("PGRCP", "pgrcp"))


def ask(corpus):
    client = rcp.connect_stdio([*pgrcp, "connect", "--url", url, "--ca-file", ca_file, "--token-file", token_file, "--corpus", corpus])
    try:
        return client.retrieve(query, 5)
    finally:
        client.shutdown()


for hit in rcp.rrf_fuse({corpus: ask(corpus) for corpus in ("default", "other")}, k=5):
    print(hit["meta"]["engine"], hit["id"])
