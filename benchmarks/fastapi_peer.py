"""``python benchmarks/fastapi_peer.py PORT FILE``: two pages of the service as FastAPI writes them.

Routes with typed parameters and response models, dependencies and a middleware, as its
documentation shows them: a search of the tokens, and an order by its id from a database. ``FILE``
has the same tokens and orders, as the service tells them. Each request has an id, and its caller is
known and counted, as at the service.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request, Response
from pydantic import BaseModel

SERVER_CORE = 0
KEYS = {"benchmark": hashlib.sha256(b"benchmark").digest()}
LIMIT = 10**9
"""Requests a minute."""
app = FastAPI()
counted: Counter[tuple[str, int]] = Counter()


@app.middleware("http")
async def with_request_id(request: Request, call_next: Any) -> Any:
    answer = await call_next(request)
    answer.headers["x-request-id"] = str(uuid.uuid4())
    return answer


def caller(authorization: Annotated[str, Header()]) -> str:
    key, _, secret = authorization.partition(":")
    digest = hashlib.sha256(secret.encode()).digest()
    if not hmac.compare_digest(KEYS.get(key, b""), digest):
        raise HTTPException(401, "Wrong credentials.")
    return key


def admitted(response: Response, key: Annotated[str, Depends(caller)]) -> None:
    window = (key, int(time.time()) // 60)
    counted[window] += 1
    if counted[window] > LIMIT:
        raise HTTPException(429, "Too many requests.")
    response.headers["x-ratelimit-limit"] = str(LIMIT)
    response.headers["x-ratelimit-remaining"] = str(LIMIT - counted[window])


def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(sys.argv[2] + ".db", check_same_thread=False)
    try:
        yield connection
    finally:
        connection.close()


class Chain(BaseModel):
    model_config = {"extra": "allow"}
    id: str
    name: str
    shortName: str  # noqa: N815 - a name of the wire
    kind: str


class Token(BaseModel):
    model_config = {"extra": "allow"}
    id: str
    name: str
    symbol: str
    chain: str
    decimals: int
    chainData: Chain  # noqa: N815 - a name of the wire


class TokenList(BaseModel):
    tokens: list[Token]
    total: int
    totalPages: int  # noqa: N815 - a name of the wire


class Order(BaseModel):
    model_config = {"extra": "allow"}
    serviceId: str  # noqa: N815 - a name of the wire
    status: int
    inToken: Token | None = None  # noqa: N815 - a name of the wire
    outToken: Token | None = None  # noqa: N815 - a name of the wire


@app.get("/tokens", dependencies=[Depends(admitted)])
async def list_tokens(
    request: Request,
    term: str | None = None,
    page: Annotated[int, Query(ge=1)] = 1,
    pageSize: Annotated[int, Query(ge=1, le=1000)] = 100,  # noqa: N803 - a name of the wire
) -> TokenList:
    word = None if term is None else term.casefold()
    found = [
        token
        for token, text in request.app.state.tokens
        if not (token.model_extra or {}).get("unverified") and (word is None or word in text)
    ]
    start = (page - 1) * pageSize
    return TokenList(
        tokens=found[start : start + pageSize],
        total=len(found),
        totalPages=-(-len(found) // pageSize),
    )


@app.get("/orders/{service_id}", dependencies=[Depends(admitted)])
def get_order(
    service_id: str, connection: Annotated[sqlite3.Connection, Depends(database)]
) -> Order:
    found = connection.execute(
        "SELECT body FROM orders WHERE service_id = ?", (service_id,)
    ).fetchone()
    if found is None:
        raise HTTPException(404, "There is no such order.")
    return Order.model_validate_json(found[0])


def main() -> None:
    os.sched_setaffinity(0, {SERVER_CORE})
    with open(sys.argv[2], "rb") as file:
        world = json.load(file)
    tokens = [Token(**one) for one in world["tokens"]]
    app.state.tokens = [
        (one, f"{one.name}\n{one.symbol}\n{(one.model_extra or {}).get('address')}".casefold())
        for one in tokens
    ]
    with sqlite3.connect(sys.argv[2] + ".db") as db:
        db.execute("CREATE TABLE orders (service_id TEXT PRIMARY KEY, body TEXT NOT NULL)")
        rows = [(one["serviceId"], json.dumps(one)) for one in world["orders"]]
        db.executemany("INSERT INTO orders VALUES (?, ?)", rows)
    uvicorn.run(app, port=int(sys.argv[1]), loop="uvloop", http="httptools", access_log=False)


if __name__ == "__main__":
    main()
