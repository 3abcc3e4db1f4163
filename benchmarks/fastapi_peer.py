"""``python benchmarks/fastapi_peer.py PORT FILE``: two pages of the service as FastAPI writes them.

Routes with typed parameters and response models, as its documentation shows them: a search of the
tokens and an order by its id. ``FILE`` has the same tokens and orders, as the service tells them.
Nothing of the middleware is here: no access, no limits, no request counts.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, HTTPException, Query, Request
from pydantic import BaseModel

SERVER_CORE = 0
app = FastAPI()


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


@app.get("/tokens")
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


@app.get("/orders/{service_id}")
async def get_order(request: Request, service_id: str) -> Order:
    order: dict[str, Any] | None = request.app.state.orders.get(service_id)
    if order is None:
        raise HTTPException(404, "There is no such order.")
    return Order(**order)


def main() -> None:
    os.sched_setaffinity(0, {SERVER_CORE})
    with open(sys.argv[2], "rb") as file:
        world = json.load(file)
    tokens = [Token(**one) for one in world["tokens"]]
    app.state.tokens = [
        (one, f"{one.name}\n{one.symbol}\n{(one.model_extra or {}).get('address')}".casefold())
        for one in tokens
    ]
    app.state.orders = {one["serviceId"]: one for one in world["orders"]}
    uvicorn.run(app, port=int(sys.argv[1]), loop="uvloop", http="httptools", access_log=False)


if __name__ == "__main__":
    main()
