"""Build, sign and submit of a bundle of fifty payments: a sandbox, and the real wallet agent."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
from msgspec import Struct

from benchmarks.report import Case
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.chain.smart_account import account_address
from swapdesk.sandbox.world import find_token
from swapdesk.secret import Secret
from swapdesk.wallet.accounts import ChainLink, Kind, WalletPlace
from swapdesk.wallet.answers import Signature
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import (
    Asset,
    BundlePromise,
    DepositPromise,
    OperationPayload,
    Promise,
    Purpose,
)

ORDERS = 50
MOST_SECONDS = 1.5
CHAIN = "base"
_PASSPHRASE = Secret("correct horse battery staple")
_LOOK_SECONDS = 0.1


def run(rounds: int) -> list[Case]:
    """``rounds`` groups of fifty orders, each paid by one operation."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "swapdesk", "serve", "--sandbox"]
        environment = {**os.environ, "SWAPDESK_HOME": home, "HOME": home}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as sandbox:
            try:
                assert sandbox.stdout is not None
                times = asyncio.run(_times(json.loads(sandbox.stdout.readline()), home, rounds))
            finally:
                sandbox.terminate()
    names = ("build", "review and sign", "submit")
    shares = ", ".join(
        f"{name} {statistics.median(one[i] for one in times):.2f} s" for i, name in enumerate(names)
    )
    print(f"  of it: {shares}")
    whole = statistics.median(sum(one) for one in times)
    name = "bundle of 50: build, sign, submit"
    return [Case(name, "bundle", "limit", whole, MOST_SECONDS, 1.0, count=len(times))]


class _Round(Struct, frozen=True):
    api: httpx2.AsyncClient
    control: httpx2.AsyncClient
    agent: WalletClient
    owner: str
    chain_id: int


async def _times(told: dict[str, Any], home: str, rounds: int) -> list[tuple[float, ...]]:
    (chain,) = [one for one in told["chains"] if one["shortName"] == CHAIN]
    partner = told["partners"][0]
    credentials = {"Authorization": f"{partner['apiKey']}:{partner['apiSecret']}"}
    link = ChainLink(CHAIN, Kind.EVM, chain["chainId"], chain["rpc"], 2)
    agent = await WalletClient.start(WalletPlace(str(Path(home) / "keys"), "sandbox", (link,)))
    api = httpx2.AsyncClient(base_url=told["url"], headers=credentials, timeout=60, trust_env=False)
    control = httpx2.AsyncClient(
        base_url=told["control"],
        headers={"sandbox-token": told["controlToken"]},
        timeout=60,
        trust_env=False,
    )
    try:
        owner = (await agent.create(Kind.EVM, "", _PASSPHRASE)).address
        here = _Round(api, control, agent, owner, chain["chainId"])
        return [await _bundle(here, number) for number in range(rounds)]
    finally:
        await agent.close()
        await api.aclose()
        await control.aclose()


async def _bundle(here: _Round, number: int) -> tuple[float, ...]:
    multi_id = await _created(here, number)
    begin = time.perf_counter()
    build = await _asked(
        here.api.post(f"/exchanges/multi/{multi_id}/tx/build", json={"sender": here.owner})
    )
    built = time.perf_counter()
    orders = {one["serviceId"]: one for one in (await _group(here, multi_id))["orders"]}
    looked = time.perf_counter()
    signatures = [await _signed(here, multi_id, orders, one) for one in build["transactions"]]
    signed = time.perf_counter()
    body = {"signatures": signatures}
    await _asked(here.api.post(f"/exchanges/multi/{multi_id}/tx", json=body))
    submitted = time.perf_counter()
    await _until(here, multi_id, lambda told: told["bundleStatus"] != "submitted")
    if (await _group(here, multi_id))["bundleStatus"] != "confirmed":
        raise RuntimeError("the bundle was not confirmed")
    return built - begin, signed - looked, submitted - signed


async def _created(here: _Round, number: int) -> str:
    """A group whose orders wait, and whose smart account holds enough."""
    sold, bought = find_token(CHAIN, "USDC"), find_token("bitcoin", "BTC")
    rows = [
        {
            "from": sold.token_id,
            "to": bought.token_id,
            "amount": 100 + place,
            "addressTo": derive_address("bitcoin", bytes([number, place]) * 16),
        }
        for place in range(ORDERS)
    ]
    made = await _asked(here.api.post("/exchanges/multi", json={"orders": rows}))
    multi_id = str(made["multiId"])
    account = account_address(here.owner)
    for gift in ({"amount": 1}, {"token": "USDC", "amount": 130 * ORDERS}):
        asked = {"chain": CHAIN, "address": account, **gift}
        await _asked(here.control.post("/faucet", json=asked))
    await _until(here, multi_id, lambda told: all(one["status"] >= 0 for one in told["orders"]))
    body = {"sender": here.owner}
    while True:
        told = await _asked(here.api.post(f"/exchanges/multi/{multi_id}/tx/build", json=body))
        (one,) = told["transactions"]
        if told["depositNeeded"] == "0" and one["txData"]["tokenAmount"] == "0":
            return multi_id
        await asyncio.sleep(_LOOK_SECONDS)


async def _signed(here: _Round, multi_id: str, orders: dict[str, Any], one: dict[str, Any]) -> str:
    data = one["txData"]
    dollar = Asset("USDC", 6, find_token(CHAIN, "USDC").address)
    deposits = tuple(_deposit(orders[each]) for each in one["serviceIds"])
    payload = OperationPayload(
        Purpose.BUNDLE,
        data["userOperation"],
        data["entryPoint"],
        data["entryPointVersion"],
        data["chainId"],
    )
    promise = Promise(
        intent_id=multi_id,
        account=here.owner,
        chain=CHAIN,
        chain_id=here.chain_id,
        sell=dollar,
        sell_units=sum(each.units for each in deposits),
        buy=dollar,
        chain_out=CHAIN,
        least_units=1,
        quoted_units=1,
        recipient=here.owner,
        venue=None,
        quote_id=None,
        valid_until=min(each.expires for each in deposits),
        gas_units=10**17,
        bundle=BundlePromise(multi_id, 0, deposits),
    )
    review = await here.agent.review(payload, promise)
    if review.refused:
        raise RuntimeError(f"the wallet refuses: {review.findings[0].words}")
    signed = await here.agent.sign(review)
    assert isinstance(signed, Signature)
    return signed.signature


def _deposit(order: dict[str, Any]) -> DepositPromise:
    return DepositPromise(
        order["serviceId"],
        order["depositAddress"],
        None,
        int(Decimal(str(order["inAmount"])) * 10**6),
        datetime.fromisoformat(order["expires"]),
    )


async def _until(here: _Round, multi_id: str, holds: Callable[[dict[str, Any]], bool]) -> None:
    while True:
        if holds(await _group(here, multi_id)):
            return
        await asyncio.sleep(_LOOK_SECONDS)


async def _group(here: _Round, multi_id: str) -> dict[str, Any]:
    return await _asked(here.api.get(f"/exchanges/multi/{multi_id}"))


async def _asked(asking: Any) -> dict[str, Any]:
    answer = await asking
    answer.raise_for_status()
    told: dict[str, Any] = json.loads(answer.text, parse_float=str) if answer.content else {}
    return told
