"""A client from outside, and what it does: three partners, every operation, the streams.

Each answer is held against the document that the service tells of itself.
It knows the specification and what the service says of itself: operations, methods and paths are
those of ``/openapi.json``, tokens those of ``/tokens``, answers are read as plain JSON. Whatever it
is told is written down as it came. What happens elsewhere (deposits, transactions, time) is asked
of the ``Desk`` of ``test_same_answers.py``.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from decimal import Decimal
from itertools import count
from typing import Any
from urllib.parse import quote

import httpx2
import websockets
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from standardwebhooks import Webhook
from websockets.asyncio.client import ClientConnection, connect

from manual_time import rest
from patience import PATIENCE
from plain_http import PLAIN
from service.valid import HeldAnswers

Query = Mapping[str, str | Sequence[str]]


class Listener:
    """One stream, and what came over it since it was last looked at."""

    def __init__(self, name: str, socket: ClientConnection) -> None:
        self.name = name
        self._socket = socket
        self._awaited = 1
        """Answers: the welcome, and one at least to each frame."""
        self._answered = asyncio.Semaphore(0)
        self._came: list[str] = []
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        with contextlib.suppress(websockets.ConnectionClosed):
            async for frame in self._socket:
                self._came.append(str(frame))
                if not _is_update(frame):
                    self._answered.release()

    async def say(self, frame: object) -> None:
        self._awaited += 1
        await self._socket.send(frame if isinstance(frame, str) else json.dumps(frame))

    async def answered(self) -> None:
        """Until every frame has its answer."""
        async with asyncio.timeout(PATIENCE):
            for _ in range(self._awaited):
                await self._answered.acquire()
        self._awaited = 0

    async def caught_up(self) -> None:
        """Until everything is here that was sent before."""
        async with asyncio.timeout(PATIENCE):
            await (await self._socket.ping())

    def taken(self) -> list[str]:
        """Since the last time. Of an order that moved on before anybody looked some states may
        have been left out, so the newest stands for all, and orders that moved at once are told in
        the order of their ids."""
        came, self._came = self._came, []
        newest = {json.loads(each)["data"]["serviceId"]: each for each in came if _is_update(each)}
        answers = [each for each in came if not _is_update(each)]
        return answers + [newest[name] for name in sorted(newest)]

    async def close(self) -> None:
        await self._socket.close()
        await self._reading

    async def closed(self) -> str:
        """With what the service ended it."""
        async with asyncio.timeout(PATIENCE):
            await self._reading
        return f"{self._socket.close_code} {self._socket.close_reason}"


def _is_update(frame: str | bytes) -> bool:
    return json.loads(frame)["type"] == "order_update"


class Outsider:
    """Asks each process of a service in turn, and writes down what it is told."""

    def __init__(self, urls: Sequence[str], outside: Any) -> None:
        self._urls = urls
        self._outside = outside
        self._turns = count()
        self._http = httpx2.AsyncClient(verify=PLAIN, trust_env=False, timeout=PATIENCE)
        self._operations: dict[str, tuple[str, str]] = {}
        self._held: HeldAnswers | None = None
        self._listeners: list[Listener] = []
        self.called: set[str] = set()
        self.record: list[str] = []

    @property
    def operations(self) -> set[str]:
        """What the service says it has."""
        return set(self._operations)

    async def __aenter__(self) -> Outsider:
        return self

    async def __aexit__(self, *_: object) -> None:
        for listener in self._listeners:
            await listener.close()
        await self._http.aclose()

    def _next_url(self, pinned: int | None) -> str:
        return self._urls[next(self._turns) % len(self._urls) if pinned is None else pinned]

    async def introduce(self, who: Mapping[str, str]) -> None:
        """Read what the service says of itself."""
        document = (await self._asked("GET", "/openapi.json", who, expects=200)).json()
        self._held = HeldAnswers(document)
        for path, methods in document["paths"].items():
            for method, described in methods.items():
                self._operations[described["operationId"]] = (method.upper(), path)
        self.called.add("openapi")

    async def ask(
        self,
        operation: str,
        who: Mapping[str, str],
        expects: int = 200,
        *path: str,
        query: Query | None = None,
        body: object = None,
        pinned: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """What the service answers, with figures as texts; it is to have this status. ``body`` as
        bytes is sent as it stands. What a process counts by itself is asked of a ``pinned`` one."""
        method, template = self._operations[operation]
        self.called.add(operation)
        names = [each for each in template.split("/") if each.startswith("{")]
        for name, value in zip(names, path, strict=True):
            template = template.replace(name, quote(value, safe=""))
        answer = await self._asked(
            method,
            template,
            {**who, **(headers or {})},
            expects=expects,
            query=query,
            body=body,
            pinned=pinned,
        )
        assert self._held is not None
        self._held.hold(answer)
        return json.loads(answer.text, parse_float=str, parse_int=str)

    async def _asked(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        *,
        expects: int,
        query: Query | None = None,
        body: object = None,
        pinned: int | None = None,
    ) -> httpx2.Response:
        await self._hear()
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if sent is not None:
            headers = {"content-type": "application/json", **headers}
        answer = await self._http.request(
            method,
            self._next_url(pinned) + path,
            params=query,
            content=sent,
            headers=dict(headers),
        )
        said = [f"{name.decode()}: {value.decode()}" for name, value in answer.headers.raw]
        asked = f"{method} {path} {query or ''} {sent or ''!r} as {headers.get('Authorization')}"
        self.record.append("\n".join([asked, str(answer.status_code), *said, answer.text]))
        assert answer.status_code == expects, self.record[-1]
        return answer

    # Streams

    async def listen(self, name: str, who: Mapping[str, str]) -> Listener:
        """A stream at the process that is not asked next."""
        await self._outside.settled()
        url = self._next_url(None).replace("http", "ws", 1) + "/ws"
        socket = await connect(url, additional_headers=dict(who), compression=None, proxy=None)
        listener = Listener(name, socket)
        await listener.answered()
        self._listeners.append(listener)
        return listener

    async def refused_stream(self, who: Mapping[str, str], pinned: int | None = None) -> None:
        """A handshake that is answered with plain HTTP."""
        try:
            url = self._next_url(pinned).replace("http", "ws", 1) + "/ws"
            async with connect(url, additional_headers=dict(who), proxy=None):
                raise AssertionError("it was accepted")
        except websockets.InvalidStatus as refused:
            answer = refused.response
            said = "\n".join(f"{name}: {value}" for name, value in answer.headers.raw_items())
            self.record.append(f"WS {who}\n{answer.status_code}\n{said}\n{answer.body!r}")

    async def say(self, listener: Listener, *frames: object) -> list[Any]:
        """What comes over a stream that is told these."""
        for frame in frames:
            await listener.say(frame)
        await listener.answered()
        return await self._hear(listener)

    async def end(self, listener: Listener) -> None:
        await self._hear()
        self._listeners.remove(listener)
        await listener.close()

    async def ended(self, name: str, who: Mapping[str, str]) -> None:
        """A stream that the service ends."""
        listener = await self.listen(name, who)
        self._listeners.remove(listener)
        reason = await listener.closed()
        self.record.append("\n".join([f"{name} hears", *listener.taken(), reason]))

    async def _hear(self, asked: Listener | None = None) -> list[Any]:
        await self._outside.settled()
        heard: list[Any] = []
        for listener in self._listeners:
            await listener.caught_up()
        await rest()
        for listener in self._listeners:
            frames = listener.taken()
            self.record.extend(f"{listener.name} hears\n{frame}" for frame in frames)
            if listener is asked:
                heard = [json.loads(frame) for frame in frames]
        return heard


# Who is who

BITCOIN_WALLET = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
RIPPLE_WALLET = "rvYAfWj5gh67oV6fW32ZzP3Aw4Eubs59B"
SOLANA_WALLET = "7EqQdEULxWcraVx3mXKFjc84LhCkMGZCkRuDpvcMwJeK"
WALLET: LocalAccount = Account.from_key("0x" + "11" * 32)
STRANGER: LocalAccount = Account.from_key("0x" + "22" * 32)
NOBODY = "zzzzzzzzzzzzzzzzzzzzzz"

CONFIRMING, EXCHANGING, SENDING, FINISHED, FAILED, REFUNDED = 2, 3, 4, 5, 6, 7
"""How far an exchange is with a leg."""


class Session:
    """``first``, ``second`` and ``free`` are partners, ``reader`` a key of the first that only
    reads, ``public`` its public id, ``suspended`` a partner that is no longer served."""

    def __init__(
        self,
        client: Outsider,
        outside: Any,
        callers: Mapping[str, Mapping[str, str]],
    ) -> None:
        self._client = client
        self._ask = client.ask
        self._outside = outside
        self._first, self._second, self._free = (
            callers[name] for name in ("first", "second", "free")
        )
        self._callers = callers
        self._events = count()
        self._tokens: dict[tuple[str, str], str] = {}

    async def run(self) -> None:
        await self._client.introduce(self._first)
        await self._reference()
        await self._quotes()
        async with self._heard():
            await self._orders()
            await self._moves()
            await self._events_of_exchanges()
            await self._streams()
            await self._lists()
            await self._limits()
            await self._bundles()
            await self._on_solana()
            await self._on_chain()
        await self._account()
        await self._later()

    @asynccontextmanager
    async def _heard(self) -> AsyncIterator[None]:
        """While every partner listens to all of its orders."""
        listeners = []
        for name in ("first", "second", "free"):
            listener = await self._client.listen(name, self._callers[name])
            told = await self._client.say(listener, {"type": "subscribe"})
            assert [each["type"] for each in told] == ["welcome", "subscribed"]
            listeners.append(listener)
        yield
        for listener in listeners:
            await self._client.end(listener)

    async def _reference(self) -> None:
        """Chains, tokens, providers and bounds of pairs."""
        ask, first, public = self._ask, self._first, self._callers["public"]
        await ask("health", {})
        await ask("health", {}, 422, query={"verbose": "true"})
        await ask("openapi", {}, 401, pinned=0)
        for query in (
            {},
            {"kind": ["EVM", "sol"]},
            {"name": "coin"},
            {"chainId": "1337000001"},
            {"memoNeeded": "true"},
            {"pageSize": "2", "page": "2"},
            {"pageSize": "2", "page": "9"},
        ):
            await ask("list_chains", public, query=query)
        for wrong in ({"page": "0"}, {"kind": ["x" * 17]}, {"chain": "ethereum"}, {"page": ""}):
            await ask("list_chains", first, 422, query=wrong)
        page, pages = 1, 1
        while page <= pages:
            told = await ask("list_tokens", first, query={"pageSize": "4", "page": str(page)})
            page, pages = page + 1, int(told["totalPages"])
            self._tokens |= {(each["chain"], each["symbol"]): each["id"] for each in told["tokens"]}
        eth, disabled = self._tokens["ethereum", "ETH"], self._tokens["ethereum", "OLD"]
        for query in (
            {"term": "coin"},
            {"symbol": "usdc", "hasBundler": "true"},
            {"unverified": "true", "chain": "ethereum"},
            {"hasDex": "true"},
            {"chain": "nowhere"},
        ):
            await ask("list_tokens", first, query=query)
        for wrong in ({"pageSize": "1001"}, {"hasDex": "yes", "symbol": "x" * 21}):
            await ask("list_tokens", first, 422, query=wrong)
        assert "securityScan" not in await ask("get_token", first, 200, eth)
        for status, token in ((404, "f" * 24), (404, disabled), (422, "ETH")):
            await ask("get_token", first, status, token)
        for query in ({}, {"isDex": "true"}, {"markupSupported": "true"}):
            await ask("list_swaps", public, query=query)
        await ask("list_swaps", first, 422, query={"isDex": "1"})
        pair = {"tokenIdFrom": eth, "tokenIdTo": self._tokens["bitcoin", "BTC"]}
        for who, status, query in (
            (first, 200, pair),
            (public, 200, {"tokenIdFrom": "ETH", "tokenIdTo": "XRP"}),
            (first, 422, {**pair, "tokenIdTo": eth}),
            (first, 404, {**pair, "tokenIdTo": disabled}),
            (first, 200, {**pair, "tokenIdFrom": self._tokens["solana", "SOL"]}),
            (first, 200, {**pair, "tokenIdFrom": self._tokens["ethereum", "USDC"]}),
        ):
            await ask("get_pair_limits", who, status, query=query)
        # Selected now, and looked at: whoever is asked knows what was found.
        for _ in range(2):
            assert "securityScan" in await ask("get_token", first, 200, eth)

    def _pair(
        self, sold: str, bought: str, amount: str, **more: str | Sequence[str]
    ) -> dict[str, str | Sequence[str]]:
        token_in, token_out = (self._tokens[tuple(each.split(" "))] for each in (sold, bought))
        return {"from": token_in, "to": token_out, "amount": amount, **more}

    def _swap(self, amount: str = "0.5", **more: str | Sequence[str]) -> Any:
        """Ether for bitcoins."""
        return self._pair("ethereum ETH", "bitcoin BTC", amount, **more)

    async def _quoted(self, who: Mapping[str, str], query: Query) -> str:
        """The quote of the best row that can be used."""
        told = await self._ask("get_quotes", who, query=query)
        return str(next(each["quoteId"] for each in told["quotes"] if "error" not in each))

    async def _quotes(self) -> None:
        ask, first = self._ask, self._first
        for more in (
            {},
            {"types": ["standard"], "sort": "duration", "sortOrder": "asc"},
            {"types": ["private", "standard"], "markup": "1.5"},
            {"types": ["private"], "useXmr": "false", "inLegIncludedSwaps": ["aa", "bb"]},
            {"types": ["standard"], "swaps": ["bb"]},
            {"fixed": "true", "refundAddress": WALLET.address},
            {"fixed": "true", "amountType": "receive", "amount": "0.03"},
            {"types": ["private"], "rotatePayoutWallets": "true", "rotateFallback": "true"},
        ):
            told = await ask("get_quotes", first, query=self._swap() | more)
            assert any("quoteId" in each for each in told["quotes"])
        for who, query in (
            (self._callers["public"], self._swap()),
            (self._second, self._swap("20")),
            (first, self._pair("ethereum ETH", "ethereum USDC", "0.5")),
        ):
            await ask("get_quotes", who, query=query)
        for wrong in (
            self._swap("0.0000001"),
            self._swap("500000"),
            self._swap("0"),
            self._swap("half"),
            self._swap("٠.٥"),
            self._swap(types=["fast"]),
            self._swap(swaps=["zz"]),
            self._swap(amountType="receive"),
            self._swap(markup="5"),
            self._swap(when="now"),
            self._swap(amount="0.5", to=self._tokens["ethereum", "ETH"]),
            {"amount": "1", "from": "ETH"},
        ):
            await ask("get_quotes", first, 422, query=wrong)
        for token in ("f" * 24, self._tokens["ethereum", "OLD"]):
            await ask("get_quotes", first, 404, query=self._swap(to=token))
        for who, status, query in (
            (self._free, 403, self._swap(fixed="true")),
            (self._callers["suspended"], 403, self._swap()),
            ({"Authorization": "first-key:wrong"}, 401, self._swap()),
        ):
            await ask("get_quotes", who, status, query=query)
        send = {"amount": "0.5", "from": self._tokens["ethereum", "ETH"]}
        for status, query in (
            (200, send),
            (200, {**send, "fixed": "true"}),
            (422, {**send, "amount": "0"}),
            (422, {"amount": "0.5"}),
            (422, {**send, "from": self._tokens["solana", "USDC"]}),
        ):
            await ask("get_private_send_quotes", first, status, query=query)

    async def _orders(self) -> None:
        """Creates, and what becomes of those that are repeated, wrong or somebody else's."""
        ask, first, second = self._ask, self._first, self._second
        body = {
            "quoteId": await self._quoted(first, self._swap(types=["standard"], markup="1")),
            "addressTo": BITCOIN_WALLET,
            "walletInfo": "a wallet",
        }
        for key, status in (("reader", 403), ("public", 401), ("suspended", 403)):
            await ask("create_exchange", self._callers[key], status, body=body)
        for who, more in (
            (second, {}),
            (first, {"addressTo": "nowhere"}),
            (first, {"amount": "1"}),
        ):
            await ask("create_exchange", who, 422, body={**body, **more})
        self._standard = await ask("create_exchange", first, body=body)
        assert await ask("create_exchange", first, body=body) == self._standard
        await ask("create_exchange", first, 422, body={**body, "walletInfo": "another"})
        for wrong in (b"", b"{", b"[]", b'{"quoteId":"1","quoteId":"2"}'):
            await ask("create_exchange", first, 400, body=wrong)
        await ask("create_exchange", first, 415, body=b"{}", headers={"content-type": "text/plain"})
        for more in ({}, {"addressTo": BITCOIN_WALLET}):
            await ask("create_exchange", first, 422, body={"quoteId": "1" * 24, **more})

        private = self._pair("ethereum ETH", "xrp XRP", "1", types=["private"])
        body = {
            "quoteId": await self._quoted(first, private),
            "addressTo": RIPPLE_WALLET,
            "destinationTag": "4711",
            "intermediateRefundAddress": WALLET.address,
        }
        self._private = await ask("create_exchange", first, body=body)
        assert self._private["anonymous"] is True

        fixed = self._swap(types=["standard"], fixed="true")
        body = {"quoteId": await self._quoted(first, fixed), "addressTo": BITCOIN_WALLET}
        await ask("create_exchange", first, 422, body=body)
        body["refundAddress"] = WALLET.address
        self._fixed = await ask("create_exchange", first, body=body)
        # A deposit address that was given out is no place to pay to.
        quote_id = await self._quoted(second, self._pair("bitcoin BTC", "ethereum ETH", "0.05"))
        body = {"quoteId": quote_id, "addressTo": self._standard["depositAddress"]}
        await ask("create_exchange", second, 422, body=body)
        body["addressTo"] = STRANGER.address
        self._theirs = await ask("create_exchange", second, body=body)

        for path in ("create_private_send", "create_exchange"):
            send = {"amount": "0.7", "from": self._tokens["ethereum", "ETH"]}
            told = await ask("get_private_send_quotes", second, query=send)
            body = {"quoteId": told["quotes"][0]["quoteId"], "addressTo": STRANGER.address}
            self._sent = await ask(path, second, body=body)
            assert await ask(path, second, body=body) == self._sent
        await ask("create_private_send", second, 422, body={**body, "addressFrom": WALLET.address})
        body["quoteId"] = await self._quoted(second, self._swap(types=["standard"]))
        await ask("create_private_send", second, 422, body=body)

        # Quotes that have ended.
        quotes = [
            await self._quoted(first, self._swap(types=["standard"], **more))
            for more in ({}, {"fixed": "true"})
        ]
        await self._outside.passes(601)
        for each in quotes:
            body = {"quoteId": each, "addressTo": BITCOIN_WALLET, "refundAddress": WALLET.address}
            await ask("create_exchange", first, 422, body=body)

        name = self._standard["serviceId"]
        assert await ask("get_order", first, 200, name) == self._standard
        assert await ask("get_order", self._callers["public"], 200, name) == self._standard
        for who, missing in ((second, name), (first, NOBODY), (first, self._theirs["serviceId"])):
            await ask("get_order", who, 404, missing)
        await ask("get_order", first, 422, "x" * 65)

    async def _moves(self) -> None:
        """Orders to each of their ends."""
        ask, first, leg = self._ask, self._first, self._outside.leg
        name = self._standard["serviceId"]
        shown = []
        for status in (CONFIRMING, EXCHANGING, SENDING, FINISHED):
            await leg(f"{name}:in", status)
            shown.append((await ask("get_order", first, 200, name))["displayStatus"])
        assert shown[0] == "DEPOSIT_DETECTED"
        assert shown[-1] == "SWAP_COMPLETED"
        name = self._private["serviceId"]
        for side, status in (
            ("in", CONFIRMING),
            ("in", EXCHANGING),
            ("in", SENDING),
            ("in", FINISHED),
            ("out", CONFIRMING),
            ("out", EXCHANGING),
            ("out", SENDING),
            ("out", FINISHED),
        ):
            await leg(f"{name}:{side}", status)
            ended = await ask("get_order", first, 200, name)
        assert ended["status"] == "4"
        name = self._fixed["serviceId"]
        await leg(f"{name}:in", CONFIRMING)
        await leg(f"{name}:in", FAILED)
        assert (await ask("get_order", first, 200, name))["statusLabel"] == "FAILED"
        back = {"refund_amount": Decimal("0.49"), "refund_chain": "ethereum"}
        self._outside.says(f"{name}:in", REFUNDED, refund_hash="0x" + "12" * 32, **back)
        await self._outside.passes(60)
        assert (await ask("get_order", first, 200, name))["refundAmount"] == "0.49"
        name = self._theirs["serviceId"]
        for status in (CONFIRMING, FINISHED):
            await leg(f"{name}:in", status)
        # Nobody pays for the last one.
        await self._outside.passes(1_800)
        told = await ask("get_order", self._second, 200, self._sent["serviceId"])
        assert told["displayStatus"] == "EXPIRED"

    def _event(self, source: str, event: object, *, secret: str = "") -> Any:
        """Path, body and headers of an event, signed as its source signs."""
        name, body = f"evt_{next(self._events)}", json.dumps(event).encode()
        signer = Webhook(secret or base64.b64encode(source.encode() * 12).decode())
        at = self._outside.now.replace(microsecond=0)
        return {
            "body": body,
            "headers": {
                "webhook-id": name,
                "webhook-timestamp": str(int(at.timestamp())),
                "webhook-signature": signer.sign(name, at, body.decode()),
            },
        }

    async def _events_of_exchanges(self) -> None:
        """An event moves an order while no time passes; a wrong one moves nothing."""
        ask, first = self._ask, self._first
        body = {
            "quoteId": await self._quoted(first, self._swap(types=["standard"])),
            "addressTo": BITCOIN_WALLET,
        }
        name = (await ask("create_exchange", first, body=body))["serviceId"]
        told = {"type": "order.updated", "data": {"orderId": f"{name}:in"}}
        for status, reached in ((CONFIRMING, "1"), (FINISHED, "4")):
            self._outside.says(f"{name}:in", status)
            event = self._event("aa", told)
            for _ in range(2):
                assert await ask("receive_webhook", {}, 200, "aa", **event) == {"received": True}
            assert (await ask("get_order", first, 200, name))["status"] == reached
        forged = self._event("aa", told, secret=base64.b64encode(b"x" * 24).decode())
        for status, source, event in (
            (401, "aa", forged),
            (401, "aa", {"body": b"{}"}),
            (404, "zz", self._event("zz", told)),
            (422, "aa", self._event("aa", {"id": "another"})),
        ):
            await ask("receive_webhook", {}, status, source, pinned=0, **event)

    async def _streams(self) -> None:
        """What a stream says, and how one goes on after it was cut."""
        ask, client, first = self._ask, self._client, self._first
        for who in (
            {},
            {"Authorization": "nothing"},
            self._callers["public"],
            {**first, "Origin": "https://shop.example"},
        ):
            await client.refused_stream(who, pinned=0)
        await client.ended("wrong", {"Authorization": "first-key:wrong"})

        ids = []
        for _ in range(2):
            quote_id = await self._quoted(first, self._swap(types=["standard"]))
            body = {"quoteId": quote_id, "addressTo": BITCOIN_WALLET}
            ids.append((await ask("create_exchange", first, body=body))["serviceId"])
        one, two = ids
        listener = await client.listen("some", self._callers["reader"])
        theirs = [one, self._theirs["serviceId"], NOBODY]
        for frame in (
            {"type": "subscribe", "serviceIds": [one]},
            {"type": "ping"},
            {"type": "subscribe", "serviceIds": theirs},
        ):
            await client.say(listener, frame)
        for wrong in (
            "{",
            "[]",
            {"type": "shout"},
            {"type": "subscribe", "serviceIds": None},
            {"type": "subscribe", "serviceIds": "all"},
        ):
            (refused,) = await client.say(listener, wrong)
            assert refused["type"] == "error"
        for name in ids:
            await self._outside.leg(f"{name}:in", CONFIRMING)
        (update,) = await client.say(listener)
        assert update["data"]["serviceId"] == one
        # Cut, and taken up at whatever process is there: what was missed is read, nothing is told
        # twice, and what comes next is heard.
        await client.end(listener)
        await self._outside.leg(f"{one}:in", EXCHANGING)
        listener = await client.listen("again", self._callers["reader"])
        told = await client.say(listener, {"type": "subscribe", "serviceIds": ids})
        assert [each["type"] for each in told] == ["welcome", "subscribed"]
        assert (await ask("get_order", first, 200, one))["displayStatus"] == "EXCHANGE_IN_PROGRESS"
        await self._outside.leg(f"{one}:in", FINISHED)
        (update,) = await client.say(listener)
        assert update["data"]["displayStatus"] == "SWAP_COMPLETED"
        await client.say(listener, {"type": "unsubscribe", "serviceIds": [one]})
        await self._outside.leg(f"{two}:in", EXCHANGING)
        (update,) = await client.say(listener)
        await client.say(listener, {"type": "unsubscribe"})
        await self._outside.leg(f"{two}:in", FINISHED)
        assert await client.say(listener) == []
        await client.end(listener)

    async def _lists(self) -> None:
        """Orders by pages and filters."""
        ask, first = self._ask, self._first
        names: list[str] = []
        page, pages = 1, 1
        while page <= pages:
            query = {"pageSize": "2", "page": str(page), "sortBy": "created", "sortOrder": "asc"}
            told = await ask("list_orders", first, query=query)
            names += [each["serviceId"] for each in told["orders"]]
            page, pages = page + 1, int(told["totalPages"])
        assert len(names) == len(set(names)) == int(told["total"]) > 4
        since = self._outside.now - timedelta(minutes=5)
        eth = self._tokens["ethereum", "ETH"]
        for query in (
            {},
            {"status": "4"},
            {"status": ["5", "7"], "sortBy": "updated"},
            {"sortBy": "amount", "sortOrder": "asc"},
            {"anonymous": "true"},
            {"anonymous": "false", "inTokenId": eth},
            {"outTokenId": self._tokens["xrp", "XRP"]},
            {"from": f"{since:%Y-%m-%dT%H:%M:%SZ}"},
            {"to": f"{since:%Y-%m-%dT%H:%M:%SZ}"},
            {"from": "2020-01-01"},
            {"multiId": NOBODY},
            {"page": "77"},
        ):
            await ask("list_orders", first, query=query)
            await ask("list_orders", self._second, query=query)
        for wrong in (
            {"pageSize": "101"},
            {"status": "9"},
            {"from": "2026-11-21", "to": "2026-11-20"},
            {"from": "yesterday"},
            {"sortBy": "price"},
            {"search": "x"},
        ):
            await ask("list_orders", first, 422, query=wrong)
        await ask("list_orders", self._callers["public"], 401)

    async def _limits(self) -> None:
        """The small partner meets its limits, and has room again when their minute ends."""
        ask, free = self._ask, self._free
        await self._outside.passes(60)
        bodies = [
            {
                "quoteId": await self._quoted(free, self._swap(types=["standard"])),
                "addressTo": BITCOIN_WALLET,
            }
            for _ in range(2)
        ]
        own = await ask("create_exchange", free, body=bodies[0])
        await ask("create_exchange", free, 429, body=bodies[1])
        assert await ask("create_exchange", free, body=bodies[0]) == own
        for _ in range(3):
            await self._quoted(free, self._swap(types=["standard"]))
        await ask("get_quotes", free, 429, query=self._swap())
        for status, more in ((429, {}), (403, {"fixed": True, "refundAddress": WALLET.address})):
            row = self._row("ethereum ETH", **more)
            await ask("create_multi_exchange", free, status, body={"orders": [row]})
        await self._outside.passes(60)
        body = {
            "quoteId": await self._quoted(free, self._swap(types=["standard"], markup="2")),
            "addressTo": BITCOIN_WALLET,
        }
        name = (await ask("create_exchange", free, body=body))["serviceId"]
        for status in (CONFIRMING, FINISHED):
            await self._outside.leg(f"{name}:in", status)

    def _row(self, sold: str, amount: float = 0.5, **more: Any) -> dict[str, Any]:
        token = self._tokens[tuple(sold.split(" "))]
        to = {"to": self._tokens["bitcoin", "BTC"], "addressTo": BITCOIN_WALLET}
        return {"from": token, "amount": amount, **to, **more}

    async def _bundles(self) -> None:
        """Groups on an EVM chain: made, signed, sent, and paid by their bundles."""
        ask, first = self._ask, self._first
        rows = [
            self._row("ethereum ETH"),
            self._row("ethereum USDC", 2000, anonymous=True),
            self._row("ethereum ETH", 0.0000001),
            self._row("ethereum ETH", 0.75, filters={"onlySwaps": ["bb"]}),
        ]
        group = await ask("create_multi_exchange", first, body={"orders": rows})
        multi = group["multiId"]
        ids = [each["order"]["serviceId"] for each in group["orders"] if "order" in each]
        assert ["error" in each for each in group["orders"]] == [False, False, True, False]
        for wrong in (
            {"orders": []},
            {"orders": [self._row("ethereum ETH"), self._row("solana SOL", 20)]},
            {"orders": rows[:1], "filters": {"onlySwaps": ["zz"]}},
            {"orders": [{**rows[0], "markup": 1}]},
        ):
            await ask("create_multi_exchange", first, 422, body=wrong)
        unknown = {**rows[0], "to": "f" * 24}
        await ask("create_multi_exchange", first, 404, body={"orders": [unknown]})
        await ask("get_multi_exchange", first, 200, multi)
        await ask("list_orders", first, query={"multiId": multi})
        for who, missing in ((self._second, multi), (first, NOBODY)):
            await ask("get_multi_exchange", who, 404, missing)
        await ask("get_multi_transactions", first, 422, multi, query={"sender": SOLANA_WALLET})

        sender = {"sender": WALLET.address}
        nothing = {"signatures": ["0x" + "ab" * 65]}
        await ask("submit_multi_transactions", first, 404, multi, body=nothing)
        await ask("build_multi_transactions", self._second, 404, multi, body=sender)
        for wrong in ({"sender": SOLANA_WALLET}, {**sender, "serviceIds": [NOBODY]}, {}):
            await ask("build_multi_transactions", first, 422, multi, body=wrong)
        some = {**sender, "serviceIds": ids[:1]}
        await ask("build_multi_transactions", first, 200, multi, body=some)
        self._outside.fund(WALLET.address)
        built = await ask("build_multi_transactions", first, 200, multi, body=sender)
        forged = {"signatures": self._signed(built, STRANGER)}
        await ask("submit_multi_transactions", first, 422, multi, body=forged)
        signed = {"signatures": self._signed(built, WALLET)}
        await ask("submit_multi_transactions", first, 422, multi, body={"signatures": ["0x00"]})
        await ask("submit_multi_transactions", self._second, 404, multi, body=signed)
        sent = await ask("submit_multi_transactions", first, 200, multi, body=signed)
        assert len(sent["userOpHashes"]) == len(built["transactions"]) == 2
        await ask("submit_multi_transactions", first, 404, multi, body=signed)
        await ask("build_multi_transactions", first, 409, multi, body=sender)
        told = await ask("get_multi_exchange", first, 200, multi)
        assert told["bundleStatus"] == "confirmed"
        mined = {
            "type": "operation.included",
            "data": {"userOpHash": sent["userOpHashes"][0]},
        }
        await ask("receive_webhook", {}, 200, "bundler", **self._event("bundler", mined))
        for name in ids:
            await self._outside.leg(f"{name}:in", CONFIRMING)
        for name in ids[::2]:
            await self._outside.leg(f"{name}:in", FINISHED)
        await ask("get_multi_exchange", first, 200, multi)

    @staticmethod
    def _signed(built: Any, owner: LocalAccount) -> list[str]:
        hashes = (each["txData"]["userOpHash"] for each in built["transactions"])
        messages = (encode_defunct(hexstr=each) for each in hashes)
        return ["0x" + bytes(owner.sign_message(each).signature).hex() for each in messages]

    async def _on_solana(self) -> None:
        """A group whose sender signs and sends the deposits itself."""
        ask, second = self._ask, self._second
        rows = [self._row("solana SOL", 20 + number) for number in range(3)]
        group = await ask("create_multi_exchange", second, body={"orders": rows})
        multi, sender = group["multiId"], {"sender": SOLANA_WALLET}
        whole = await ask("get_multi_transactions", second, 200, multi, query=sender)
        assert whole["chain"] == "solana"
        ids = whole["transactions"][0]["serviceIds"]
        body = {**sender, "serviceIds": ids[1:]}
        await ask("build_multi_transactions", second, 200, multi, body=body)
        await ask("get_multi_transactions", second, 422, multi, query={"sender": WALLET.address})
        await ask("get_multi_transactions", self._first, 404, multi, query=sender)
        await self._outside.leg(f"{ids[0]}:in", CONFIRMING)
        await ask("get_multi_exchange", second, 200, multi)

    async def _on_chain(self) -> None:
        """Swaps on a chain: what a wallet approves, signs and sends, and what is confirmed."""
        ask, first, owner = self._ask, self._first, WALLET.address
        coins = self._pair("ethereum ETH", "ethereum USDC", "0.25", types=["dex"])
        quote_id = await self._quoted(first, {**coins, "senderAddress": owner})
        asked = {"quoteId": quote_id, "addressFrom": owner}
        missing = await ask("dex_approve", first, body=asked)
        assert missing == {"approvals": [], "signatures": []}
        assert await ask("dex_allowance", first, body=asked) is True
        for operation in ("dex_approve", "dex_allowance"):
            await ask(operation, self._second, 422, body=asked)
            await ask(operation, first, 422, body={**asked, "addressFrom": BITCOIN_WALLET})
        body = {**asked, "addressTo": owner}
        await ask("create_exchange", first, 422, body={"quoteId": quote_id, "addressTo": owner})
        order = await ask("create_exchange", first, body=body)
        assert await ask("create_exchange", first, body=body) == order
        name, call = order["serviceId"], order["metadata"]
        confirm = {"id": name, "txHash": "0x" + "ab" * 32}
        assert await ask("dex_confirm_transaction", first, body=confirm) is False
        foreign = self._outside.send(STRANGER.address, call)
        for who, status, body in (
            (first, 400, {"id": name}),
            (first, 422, {**confirm, "txHash": "1" * 64}),
            (first, 422, {**confirm, "txHash": foreign}),
            (self._second, 404, confirm),
            (first, 404, {**confirm, "id": NOBODY}),
            (first, 422, {**confirm, "id": self._standard["serviceId"]}),
        ):
            await ask("dex_confirm_transaction", who, status, body=body)
        sent = {"id": name, "txHash": self._outside.send(owner, call)}
        for _ in range(2):
            assert await ask("dex_confirm_transaction", first, body=sent) is True
        await ask("dex_confirm_transaction", first, 409, body=confirm)
        await self._outside.passes(5)
        ended = await ask("get_order", first, 200, name)
        assert (ended["displayStatus"], ended["isDex"]) == ("SWAP_COMPLETED", True)

        tokens = self._pair("ethereum USDC", "ethereum ETH", "500", types=["dex"])
        asked = {"quoteId": await self._quoted(first, tokens), "addressFrom": owner}
        assert await ask("dex_allowance", first, body=asked) is False
        approvals = await ask("dex_approve", first, body={**asked, "usePermit": False})
        assert len(approvals["approvals"]) == 1
        (permit,) = (await ask("dex_approve", first, body=asked))["signatures"]
        step = {
            **asked,
            "previousSignature": {"signature": self._sign(permit), "key": permit["key"]},
            "signatureKey": permit["key"],
            "signatureStep": 0,
        }
        for who, more in (
            (first, {"signatureStep": 1}),
            (first, {"signatureKey": "other"}),
            (self._second, {}),
        ):
            await ask("dex_chain_signatures", who, 422, body={**step, **more})
        (last,) = await ask("dex_chain_signatures", first, body=step)
        assert last["isComplete"] is True
        body = {**asked, "addressTo": owner}
        await ask("create_exchange", first, 422, body=body)
        body["signatures"] = [{"signature": self._sign(last), "key": last["key"]}]
        order = await ask("create_exchange", first, body=body)
        sent = {"id": order["serviceId"]}
        sent["txHash"] = self._outside.send(owner, order["metadata"])
        assert await ask("dex_confirm_transaction", first, body=sent) is True
        await ask("get_order", first, 200, order["serviceId"])

    @staticmethod
    def _sign(required: Any) -> str:
        document = json.loads(json.dumps(required["data"]))
        signed = Account.sign_typed_data(WALLET.key, full_message=document)
        return "0x" + bytes(signed.signature).hex()

    async def _account(self) -> None:
        """What each partner is told of itself."""
        ask = self._ask
        month = f"{self._outside.now:%Y-%m}"
        day = f"{self._outside.now:%Y-%m-%d}"
        for who in (self._first, self._second, self._free):
            for operation in ("get_rate_limits", "get_volume", "get_weekly_volume"):
                await ask(operation, who)
            for query in ({}, {"month": month}, {"month": "2026-01"}):
                await ask("get_commissions", who, query=query)
            for query in (
                {},
                {"granularity": "month", "from": "2026-09-01", "to": day},
                {"from": day, "to": day},
            ):
                await ask("get_chart", who, query={"metric": "volume", **query})
        earned = await ask("get_commissions", self._first)
        assert float(earned["pendingCommissions"]) > 0
        for operation, wrong in (
            ("get_commissions", {"month": "2026-13"}),
            ("get_chart", {"granularity": "day"}),
            ("get_chart", {"metric": "volume", "from": "soon"}),
        ):
            await ask(operation, self._first, 422, query=wrong)
        for operation in ("get_rate_limits", "get_volume", "get_weekly_volume"):
            await ask(operation, self._callers["public"], 401)
            await ask(operation, self._first, 422, query={"partner": "second"})

    async def _later(self) -> None:
        """Orders are gone after two days; what they earned is paid out after a month."""
        ask, first = self._ask, self._first
        month = f"{self._outside.now:%Y-%m}"
        await self._outside.passes(50 * 3600)
        await ask("get_order", first, 404, self._standard["serviceId"])
        assert (await ask("list_orders", first))["total"] == "0"
        await self._outside.passes(31 * 24 * 3600)
        before = await ask("get_commissions", first, query={"month": month})
        await self._outside.pay_out("partner-first", month)
        after = await ask("get_commissions", first, query={"month": month})
        assert before["pendingCommissions"] == after["processedCommissions"] != "0"
        for operation in ("get_volume", "get_weekly_volume", "get_rate_limits"):
            await ask(operation, first)
        await ask("get_chart", first, query={"metric": "volume", "granularity": "month"})
