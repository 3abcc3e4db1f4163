"""The node: its time, its ledger and the exchanges' books, served as JSON-RPC 2.0 over HTTP on this
machine. It also sends the service events about changes (contract 15), which may be lost."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from swapdesk.chain.rpc.ledger import LedgerMethod, RpcCode
from swapdesk.clock import Clock, SystemClock
from swapdesk.sandbox.faults import NODE_DOWN
from swapdesk.sandbox.http_server import refusal
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.node.database import AccountRows, Database, OtherWorld
from swapdesk.sandbox.node.evm.embedding import Embedding
from swapdesk.sandbox.node.evm.http_endpoint import Door
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.evm.wallets import EvmWallets
from swapdesk.sandbox.node.ledger import ChainWallets, Ledger, Payment
from swapdesk.sandbox.node.mined_log import ChainFileMismatch, LogDamaged
from swapdesk.sandbox.node.params import (
    AccountOf,
    ChainOf,
    ClockSet,
    FaucetPay,
    FaultAdd,
    Fund,
    LegsOf,
    NoParams,
    OpenLeg,
    SendOn,
    TransferOf,
)
from swapdesk.sandbox.node.solana.node import SolanaNode, SolanaWallets
from swapdesk.sandbox.node.solana.terms import CHAIN as SOLANA
from swapdesk.sandbox.node.venue_accounts import VenueAccounts
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.sandbox.partner_keys import load_key, webhook_secret
from swapdesk.sandbox.tables import EVM_CHAINS, PAYOUT_WALLETS, VENUE_ROWS, ChainIds
from swapdesk.sandbox.world import WorldToken, chains_by_name, world_tokens
from swapdesk.wire.encoding.codec import CodecError, ShapeError, decode_json, encode_json, validate
from swapdesk.wire.encoding.timestamps import rfc3339
from swapdesk.wire.model import RequestModel
from swapdesk.wire.webhook_signature import signature

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger(__name__)


PACE_KEPT_MS = 60_000
"""Milliseconds of sandbox time after which an idle node stores its time again. Otherwise sandbox
time could fall back."""


_FEE_WEI = 10**17
_GIFT_TIMES = 4
"""If a customer's account holds too little for a payment, the account is given this many times the
payment."""


class OtherTerms(Exception):
    """Raised if the stored data began with another seed or other chain ids than asked for."""

    def __init__(self, stored: str) -> None:
        super().__init__(f"this data directory was made with {stored}")


def chains_of(params: RequestModel, ledger: Ledger, rows: AccountRows) -> list[str]:
    """Returns the short names of the chains on which a method with these parameters reads or moves
    money."""
    tokens: list[str] = []
    if isinstance(params, OpenLeg):
        tokens = [params.token_in, params.token_out]
    elif isinstance(params, AccountOf):
        row = rows.by_key(params.venue, params.key)
        tokens = [] if row is None else [row["token_in"], row["token_out"]]
    elif isinstance(params, FaucetPay):
        tokens = [params.token]
    elif isinstance(params, TransferOf):
        transfer = ledger.find(params.hash)
        return [] if transfer is None else [transfer.chain]
    world = world_tokens()
    return [world[token].chain.short_name for token in tokens if token in world]


Handler = tuple[type[RequestModel], Callable[[Any], Any]]
"""The type of a method's parameters, and the function that carries out the method."""


class Node:
    """The time, the ledger and the exchanges' books of one sandbox, in one database. If ``seed`` or
    ``speed`` is None, the stored value is used. Raises OtherTerms if the data began with another
    seed."""

    def __init__(
        self,
        path: Path,
        clock: SystemClock,
        *,
        seed: int | None = None,
        speed: Decimal | None = None,
        embedded: Mapping[str, ChainWallets] | None = None,
    ) -> None:
        self.database = Database(path)
        stored = self.database.get("seed")
        if stored is not None and seed is not None and int(stored) != seed:
            self.database.close()
            raise OtherTerms(f"seed {stored}")
        self.seed = int(stored) if stored is not None else (seed or 0)
        self._clock = clock
        pace = self.database.load_pace()
        self.clock = WorldClock(clock, pace, speed or Decimal(1))
        if pace is not None and speed is not None and speed != pace.speed:
            self.clock.set_speed(speed)
        self.ledger = Ledger(self.database, self.clock, self.seed, embedded)
        self.accounts = VenueAccounts(self.database, self.ledger, self.clock)
        self.faults = self.accounts.faults.waiting
        self.chains: Embedding
        self.solana: SolanaNode
        """The embedded Solana chain; set only in a process that runs the embedded chains, like
        ``chains``."""
        try:
            with self.database.transaction():
                self.ledger.issue()
                if stored is None:
                    self.database.put("seed", str(self.seed))
                self._keep_pace()
        except OtherWorld:
            self.database.close()
            raise
        self.handlers = self._table()

    def begun_with(self, name: str, asked: str) -> None:
        """Stores ``asked`` under ``name``, such as ``chain ids``, as a value that never changes.
        Raises OtherTerms if another value is stored."""
        stored = self.database.get(name)
        if stored is None:
            self.database.put(name, asked)
        elif stored != asked:
            raise OtherTerms(f"{name} {stored}")

    def step(self) -> None:
        if self.accounts.step() or self.clock.moment().now - self._kept > PACE_KEPT_MS:
            with self.database.transaction():
                self._keep_pace()

    def call(self, method: LedgerMethod, params: RequestModel) -> Any:
        """Does all that is due, then calls a method and returns its result or an awaitable of it.
        For the method ``venue_legs``, which only reads, the first step is skipped. Raises
        Problem."""
        if method != "venue_legs":
            self.step()
        if self.faults.down():
            for chain in chains_of(params, self.ledger, self.accounts.rows):
                if self.faults.meets(chain, NODE_DOWN):
                    raise Problem(f"the node of {chain} does not answer", RpcCode.DOWN)
        return self.handlers[method][1](params)

    def application(self, token: str) -> NodeApp:
        """Returns the ASGI application of the node and of its embedded chains. The node's methods
        require ``token``."""
        return NodeApp(self, token, Door(self.faults, self.chains.call, self.solana.call))

    def tell(self, sender: EventSender) -> None:
        self.accounts.rows.on_change = lambda venue, key: sender.tell(venue, "orderId", key)
        self.chains.on_inclusion = lambda operation_hash: sender.tell(
            BUNDLER, "userOpHash", operation_hash
        )

    async def end(self) -> None:
        await self.chains.close()
        self.solana.close()
        self.close()

    def close(self) -> None:
        """Stores the time and closes the database. Embedded chains, if there are any, have to be
        closed separately."""
        with self.database.transaction():
            self._keep_pace()
        self.database.close()

    def _keep_pace(self) -> None:
        pace = self.clock.pace
        self.database.store_pace(pace)
        self._kept = pace.latest

    def _table(self) -> Mapping[LedgerMethod, Handler]:
        accounts, ledger = self.accounts, self.ledger
        return {
            "clock_get": (NoParams, lambda _: self._time()),
            "clock_set": (ClockSet, self._set_clock),
            "chain_heights": (NoParams, lambda _: self._heights()),
            "transfer_get": (TransferOf, lambda p: self._transfer(ledger.find(p.hash))),
            "faucet_pay": (FaucetPay, self._pay),
            "venue_open": (OpenLeg, accounts.open),
            "venue_find": (AccountOf, lambda p: accounts.find(p.venue, p.key)),
            "venue_report": (AccountOf, lambda p: accounts.report(p.venue, p.key)),
            "venue_legs": (LegsOf, self._legs),
            "venue_wallets": (ChainOf, self._wallets),
            "venue_send_on": (SendOn, lambda p: self._transfer(accounts.send_on(p))),
            "fault_add": (FaultAdd, self._add_fault),
            "fault_list": (NoParams, lambda _: [fault.as_json() for fault in self.faults.active]),
            "fund": (Fund, self._fund),
            "fault_clear": (NoParams, lambda _: accounts.faults.clear()),
        }

    def _time(self) -> dict[str, object]:
        return {
            "seed": self.seed,
            "offset": Decimal(self.clock.pace.offset) / 1000,
            "speed": self.clock.speed,
            "now": rfc3339(self._clock.now()),
        }

    def _set_clock(self, params: ClockSet) -> dict[str, object]:
        if params.advance is not None:
            self.clock.advance(int(params.advance * 1000))
        if params.speed is not None:
            self.clock.set_speed(params.speed)
        with self.database.transaction():
            self._keep_pace()
        self.accounts.step()
        return self._time()

    def _legs(self, params: LegsOf) -> list[dict[str, object]]:
        legs = []
        for leg in params.legs:
            instruction = self.accounts.find(leg.venue, leg.key)
            report = self.accounts.report(leg.venue, leg.key)
            if instruction is not None and report is not None:
                amounts = {name: value for name, value in report.items() if value is not None}
                legs.append({**report, **instruction, **amounts, "venue": leg.venue})
        return legs

    def _heights(self) -> dict[str, int]:
        down = self.faults.down()
        return {
            name: height
            for name, chain in chains_by_name().items()
            if name not in down and (height := self.ledger.height(chain)) is not None
        }

    def _add_fault(self, params: FaultAdd) -> None:
        if params.chain is None:
            self.accounts.faults.add(params)
            self.accounts.step()
        else:
            self.faults.set(params.fault, "chain", params.chain, times=params.times)

    def _fund(self, params: Fund) -> Awaitable[dict[str, object]]:
        asked = params.address, int(params.units), params.token
        if params.chain == SOLANA:
            return self.solana.fund(*asked)
        chain = _embedded_chain(params.chain)
        return self.chains.fund(chain, *asked)

    def _pay(
        self, params: FaucetPay
    ) -> dict[str, object] | Awaitable[dict[str, object] | None] | None:
        token = world_tokens().get(params.token)
        if token is None or token.asset is None:
            raise Problem("the faucet holds no such token")
        if params.payer is None:
            return self._paid(token, params, self.ledger.faucet(token.chain))
        _embedded_chain(token.row.chain)
        return self._pay_as(params.payer, token, params)

    async def _pay_as(
        self, customer: str, token: WorldToken, params: FaucetPay
    ) -> dict[str, object] | None:
        account = self.ledger.customer(token.chain, customer)
        if self.ledger.paid(_cause(params)) is None:
            await self._fill(token, account, int(params.units))
        return self._paid(token, params, account)

    async def _fill(self, token: WorldToken, account: str, units: int) -> None:
        """Gives a customer's account several times what it lacks for a payment, so that the gift
        does not reveal the payment's amount. Returns once the gifts are in a block."""
        chain = token.row.chain
        wallets = self.ledger.embedded[chain]
        coin = next(
            token
            for token in world_tokens().values()
            if token.row.chain == chain and token.row.native
        )
        needed = units if token.address is None else 0
        chains, sent = self.chains, []
        if wallets.balance(coin, account) < needed + _FEE_WEI:
            sent.append(await chains.fund(chain, account, _GIFT_TIMES * needed + 2 * _FEE_WEI))
        if token.address is not None and wallets.balance(token, account) < units:
            sent.append(await chains.fund(chain, account, _GIFT_TIMES * units, token.address))
        for gift in sent:
            await chains.confirmed(chain, str(gift["hash"]))

    def _wallets(self, params: ChainOf) -> list[str]:
        row = chains_by_name().get(params.chain)
        if row is None:
            raise Problem("there is no such chain")
        return [
            self.ledger.hot_wallet(venue.code, row, number)
            for venue in VENUE_ROWS
            for number in range(PAYOUT_WALLETS)
        ]

    def _paid(self, token: WorldToken, params: FaucetPay, sender: str) -> dict[str, object] | None:
        to, units, at = (params.address, params.tag), int(params.units), self.clock.moment()
        with self.database.transaction():
            paid = self.ledger.pay(token, sender, *to, units, cause=_cause(params), at=at)
        return self._transfer(paid)

    def _transfer(self, transfer: Payment | None) -> dict[str, object] | None:
        if transfer is None:
            return None
        return {
            "hash": transfer.hash,
            "chain": transfer.chain,
            "token": transfer.token,
            "from": transfer.sender,
            "to": transfer.receiver,
            "tag": transfer.tag,
            "units": str(transfer.units),
            "height": transfer.height or 0,
            "confirmations": self.ledger.confirmations(transfer),
        }


def _cause(params: FaucetPay) -> str:
    return f"faucet:{params.key}"


def _embedded_chain(chain: str) -> str:
    if chain not in EVM_CHAINS:
        raise Problem(f"only an embedded chain does that: {', '.join(EVM_CHAINS)}")
    return chain


BODY_LIMIT = 64 * 1024


class NodeApp:
    """The ASGI application of a node. Requests need the node's token, except those on the paths of
    the embedded chains: the application ``chains`` answers these without a token."""

    def __init__(self, node: Node, token: str, chains: Door | None = None) -> None:
        self._node = node
        self._token = token
        self._chains = chains

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if self._chains is not None and self._chains.serves(scope["path"]):
            await self._chains(scope, receive, send)
            return
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        refused = refusal(request.headers, self._token, frozenset())
        if refused is not None:
            return Response(refused[1], status_code=refused[0], media_type="text/plain")
        if request.method != "POST":
            return Response(status_code=405, headers={"allow": "POST"})
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_LIMIT:
                return Response(status_code=413)
        document = await self._document(bytes(body))
        return Response(encode_json(document), media_type="application/json")

    async def _document(self, body: bytes) -> dict[str, Any]:
        number: object = None
        try:
            call = _call(body)
            number = call.get("id")
            result = await self._run(call)
        except Problem as problem:
            return {"jsonrpc": "2.0", "id": number, "error": problem.as_json()}
        return {"jsonrpc": "2.0", "id": number, "result": result}

    async def _run(self, call: dict[str, Any]) -> Any:
        method = next((name for name in self._node.handlers if name == call.get("method")), None)
        if method is None:
            raise Problem("no such method", RpcCode.NO_METHOD)
        try:
            params = validate(
                self._node.handlers[method][0], call.get("params") or {}, side="service"
            )
        except ShapeError as error:
            raise Problem(str(error), RpcCode.BAD_PARAMS) from None
        try:
            result = self._node.call(method, params)
            return await result if isawaitable(result) else result
        except Problem:
            raise
        except Exception:
            # The boundary of a call: logged whole, and the caller learns that it is our fault.
            logger.exception("%s failed", method)
            raise Problem("the node failed", RpcCode.INTERNAL) from None


def _call(body: bytes) -> dict[str, Any]:
    try:
        call = decode_json(body, max_bytes=BODY_LIMIT)
    except CodecError as error:
        raise Problem(str(error), RpcCode.BAD_JSON) from None
    if not isinstance(call, dict) or not isinstance(call.get("params", {}), dict):
        raise Problem("a call is an object with named parameters", RpcCode.BAD_REQUEST)
    return call


TICK_SECONDS = 0.1
BUNDLER = "bundler"
"""The source that is named in events about UserOperations."""
DATABASE = "node.db"


def open_node(
    data: Path,
    clock: SystemClock,
    *,
    seed: int | None = None,
    speed: Decimal | None = None,
    ids: ChainIds = "sandbox",
    pools: bool = True,
) -> Node:
    """Opens the node of a data directory. If ``pools`` is True, pool prices follow the market.
    Raises OtherTerms, OtherWorld, SandboxKeyRefused, ChainFileMismatch and LogDamaged."""
    key = load_key(data)
    wallets = {name: EvmWallets(name, key) for name in EVM_CHAINS}
    solana_wallets = SolanaWallets(key)
    node = Node(
        data / DATABASE,
        clock,
        seed=seed,
        speed=speed,
        embedded={**wallets, solana_wallets.name: solana_wallets},
    )
    try:
        node.begun_with("chain ids", ids)
        node.solana = SolanaNode(data, key, now_ms=node.clock.now_ms, faults=node.faults)
        node.chains = Embedding(
            data,
            key,
            ids=ids,
            world=node.clock,
            clock=clock,
            faults=node.faults,
            market=Market(node.seed) if pools else None,
        )
    except (OtherTerms, ChainFileMismatch, LogDamaged):
        node.close()
        raise
    for chain_wallets in wallets.values():
        chain_wallets.embedding = node.chains
    solana_wallets.node = node.solana
    return node


async def keep_stepping(node: Node, clock: SystemClock, seconds: float = TICK_SECONDS) -> None:
    """Does everything that is due, once every ``seconds``, until cancelled."""
    while True:
        node.step()
        await clock.sleep(seconds)


MOST_WAITING = 1_000
"""Largest number of events that wait; if there are more, the oldest are dropped."""
WAITS = (0.2, 0.5, 1.0, 2.0)
"""Seconds between two tries to send an event; after the last wait there is one more try."""
DEADLINE = 5.0
"""Seconds in which the service must accept one event."""
_TYPES = {"orderId": "order.updated", "userOpHash": "operation.included"}


_News = tuple[str, str, str]


class EventSender:
    """Sends events to the service at ``url``, which ends in ``/v2``. ``key`` is the sandbox's
    secret (``sandbox.key``); ``rng`` draws the ids of events."""

    def __init__(
        self,
        url: str,
        key: bytes,
        clock: Clock,
        rng: random.Random,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._transport = transport
        self._url = url
        self._key = key
        self._clock = clock
        self._rng = rng
        self._waiting: dict[_News, None] = {}
        self._told = asyncio.Event()

    def tell(self, source: str, name: str, value: str) -> None:
        """Queues an event for the service, such as ``orderId`` (``name``) with an order's id
        (``value``). ``source`` is a venue's code or ``bundler``."""
        self._waiting.setdefault((source, name, value))
        if len(self._waiting) > MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._told.set()

    async def run(self) -> None:
        """Sends queued events until cancelled, one after the other."""
        # On use: a node that tells nobody needs no client.
        import httpx2

        from swapdesk.certificates import certificates

        async with httpx2.AsyncClient(
            timeout=DEADLINE,
            verify=certificates(httpx2.URL(self._url)),
            trust_env=False,
            follow_redirects=False,
            transport=self._transport,
        ) as http:
            while True:
                await self._told.wait()
                self._told.clear()
                while self._waiting:
                    news = next(iter(self._waiting))
                    del self._waiting[news]
                    await self._deliver(http, news)

    async def _deliver(self, http: httpx2.AsyncClient, news: _News) -> None:
        import httpx2

        source, name, value = news
        event_id = f"evt_{self._rng.getrandbits(128):032x}"
        body = encode_json(
            {
                "id": event_id,
                "type": _TYPES[name],
                "timestamp": self._clock.now(),
                "data": {name: value},
            }
        )
        for wait in (*WAITS, None):
            try:
                # Signed anew for every try, so that none is too old.
                now = int(self._clock.now().timestamp())
                secret = webhook_secret(self._key, source)
                headers = {
                    "content-type": "application/json",
                    "webhook-id": event_id,
                    "webhook-timestamp": str(now),
                    "webhook-signature": signature(secret, event_id, now, body),
                }
                url = f"{self._url}/webhooks/{source}"
                answer = await http.post(url, content=body, headers=headers)
                if answer.is_success:
                    return
            except httpx2.HTTPError:
                logger.debug("event %s: the service does not answer", event_id)
            if wait is not None:
                await self._clock.sleep(wait)
        logger.info("event %s of %s was not taken", event_id, source)
