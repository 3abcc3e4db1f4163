"""A PostgreSQL in trouble: the answer is 503 and says when to ask again, no order is half, and
everything goes on afterwards without a restart."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import struct
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import asyncpg
import httpx2
import pytest
from msgspec.structs import replace

from databases import GUARDED, OwnServer
from manual_time import pass_seconds
from own_certificate import own_certificate
from patience import PATIENCE, eventually
from service.balancer import _copied
from service.groups import row as group_row
from service.http_calls import code, running
from service.new_store import announced, found
from service.quote_calls import asked, finish, quotes
from service.test_store import begun, order
from service.venue import PlainVenue
from service.world import AS_FIRST, EVM, FIRST
from swapdesk.clock import ManualClock
from swapdesk.service.access import Tier
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.partner_watch import KNOWN_SECONDS
from swapdesk.service.store import postgres
from swapdesk.service.store.database import SchemaError, StoreUnavailable
from swapdesk.service.store.partners import Act
from swapdesk.service.store.postgres import Place, PostgresDatabase
from swapdesk.service.store.store import Store
from swapdesk.service.venues.adapter import CentralizedVenue, LegStatus, VenueTraits


class Wire:
    """The way to the server. ``cut`` ends it in the middle of a commit that has ``within``:
    before the server hears of it, before its answer comes back, or behind that. ``ends``: for
    good."""

    def __init__(self, server: Path) -> None:
        self._server = server
        self.cut: Literal["asked", "answered", "told"] | None = None
        self.within = b"INSERT INTO orders"
        self.cuts = 0
        self.ends = False
        self._writers: set[asyncio.StreamWriter] = set()

    def break_off(self) -> None:
        """End every connection as it stands, and those that are still to come."""
        self.ends, self.cuts = True, 1
        for writer in self._writers:
            writer.transport.abort()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            answers, there = await asyncio.open_unix_connection(self._server)
        except OSError:
            writer.close()
            return
        ending = asyncio.Event()
        back = asyncio.create_task(self._back(answers, writer, ending))
        begins = False
        while data := await reader.read(1 << 16):
            if self.ends and self.cuts:
                break
            begins = begins or self.within in data
            if begins and self.cut and b"COMMIT;" in data:
                cut, self.cut = self.cut, None
                self.cuts += 1
                if cut == "asked":
                    break
                if cut == "answered":
                    ending.set()
            there.write(data)
        there.close()
        if not ending.is_set():
            writer.close()
        await back

    async def _back(
        self, answers: asyncio.StreamReader, writer: asyncio.StreamWriter, ending: asyncio.Event
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await answers.read(1 << 16):
                if ending.is_set():
                    break
                writer.write(data)
        writer.close()


TWO = {"orders": [group_row(), group_row(0.6)]}
ROTATED = {
    "orders": [group_row(anonymous=True), group_row(0.6, anonymous=True)],
    "filters": {"rotatePayoutWallets": True},
}


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with OwnServer.started() as own:
        yield own


@pytest.fixture
async def wire(server: OwnServer) -> AsyncIterator[tuple[Wire, Path]]:
    """And the directory that its socket is in."""
    with tempfile.TemporaryDirectory(prefix="wire-", dir="/tmp") as directory:
        wire = Wire(server.socket)
        at = Path(directory) / server.socket.name
        listening = await asyncio.start_unix_server(wire.carry, at)
        yield wire, at.parent
        listening.close()


@pytest.fixture
def database(server: OwnServer) -> str:
    return server.cluster.empty_database(0)


@pytest.fixture
async def store(server: OwnServer, wire: tuple[Wire, Path], database: str) -> AsyncIterator[Store]:
    head, _, _ = server.cluster.url(database).partition("?")
    opened = Store(PostgresDatabase(Place(f"{head}?host={wire[1]}", connections=2)))
    yield opened
    await opened.close()


@pytest.fixture
def venue() -> PlainVenue:
    return PlainVenue("aa", "Alpha")


@pytest.fixture
def venue_list(venue: PlainVenue) -> list[CentralizedVenue]:
    return [venue, PlainVenue("bb", "Beta", spread="0.008")]


@asynccontextmanager
async def connected(server: OwnServer, database: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(server.cluster.url(database))
    try:
        yield connection
    finally:
        await connection.close()


def unavailable(answer: httpx2.Response) -> None:
    assert code(answer) == (503, "SERVICE_UNAVAILABLE")
    assert int(answer.headers["retry-after"]) >= 1


async def offered(api: httpx2.AsyncClient) -> dict[str, Any]:
    """The body of a create."""
    row, *_ = [row for row in await quotes(api, asked()) if row.quote_id]
    return {"quoteId": row.quote_id, "addressTo": EVM}


async def orders(store: Store) -> list[str]:
    rows = await found(store, "SELECT service_id FROM orders")
    return [service_id for (service_id,) in rows]


async def nothing_is_half(store: Store) -> None:
    assert await orders(store) == []
    assert await found(store, "SELECT 1 AS n FROM quotes WHERE consumed_by IS NOT NULL") == []
    assert await found(store, "SELECT used FROM usage WHERE rate_class = 'exchange'") == []


async def test_a_service_outlives_a_restart_of_its_database(
    server: OwnServer,
    service: ServiceParts,
    store: Store,
    venue: PlainVenue,
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(service, AS_FIRST) as api:
        first = (await api.post("/exchanges", json=await offered(api))).raise_for_status().json()
        wanted = await offered(api)
        await eventually(lambda: service.hub.delivered is not None)
        await pass_seconds(clock, 2)
        server.stop()
        for call in (
            api.get(f"/orders/{first['serviceId']}"),
            api.get("/orders"),
            api.post("/exchanges", json=wanted),
            api.get("/quotes", params=asked()),
        ):
            unavailable(await call)
        # Each loop of the background meets it.
        await pass_seconds(clock, 3)
        server.start()
        told = service.hub.delivered
        assert (await api.get(f"/orders/{first['serviceId']}")).json() == first
        second = (await api.post("/exchanges", json=wanted)).raise_for_status().json()
        assert set(await orders(store)) == {first["serviceId"], second["serviceId"]}
        venue.move(f"{first['serviceId']}:in", LegStatus.CONFIRMING)
        for _ in range(60):
            await pass_seconds(clock, 1)
            now = (await api.get(f"/orders/{first['serviceId']}")).json()
            if now["status"] != first["status"]:
                break
        assert now["status"] > first["status"], "the worker goes on"
        await eventually(lambda: service.hub.delivered > told)
        await pass_seconds(clock, 2)
        month = f"{clock.now():%Y-%m}"
        assert await store.calls.in_month(FIRST.partner_id, month) >= 9, "calls are written down"
        for silent in ("partners", "worker", "hub"):
            assert f"{silent}: the store does not answer" in caplog.text
            assert f"{silent}: the store answers again" in caplog.text


async def test_a_service_ends_while_its_database_is_gone(
    server: OwnServer, service: ServiceParts, caplog: pytest.LogCaptureFixture
) -> None:
    """And says what that costs."""
    try:
        async with running(service, AS_FIRST) as api:
            await offered(api)
            server.stop()
    finally:
        server.start()
    assert "request counts: the store does not answer" in caplog.text


async def test_whoever_is_ended_ends_though_its_connection_breaks_just_then(
    server: OwnServer,
    database: str,
    store: Store,
    wire: tuple[Wire, Path],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What the library tells of the connection is no failure that somebody goes on after."""
    asks = (
        "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = $1 AND query LIKE $2 AND state = $3"
    )

    async def wait(db: Any) -> None:
        await db.rows("SELECT pg_sleep(4)")

    waiting = asyncio.create_task(store.database.write(wait))
    with store.database.growth():
        async with connected(server, database) as other, asyncio.timeout(PATIENCE):
            # Who has not begun to listen yet is ended by another failure.
            for query, state in (("%pg_sleep%", "active"), ("LISTEN%", "idle")):
                while not await other.fetchval(asks, database, query, state):  # noqa: ASYNC110
                    await asyncio.sleep(0.002)
        waiting.cancel()
        wire[0].break_off()
        closing = asyncio.create_task(store.close())
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await eventually(
            lambda: closing.done() or "commits of others does not answer" in caplog.text
        )
    assert closing.done()


@pytest.mark.parametrize("cut", ["asked", "answered"])
async def test_a_create_whose_commit_is_cut_is_found_by_its_twin(
    service: ServiceParts,
    store: Store,
    venue: PlainVenue,
    clock: ManualClock,
    wire: tuple[Wire, Path],
    cut: Any,
) -> None:
    async with running(service, AS_FIRST) as api:
        wanted = await offered(api)
        wire[0].cut = cut
        unavailable(await api.post("/exchanges", json=wanted))
        assert wire[0].cuts == 1
        begun = await orders(store)
        assert len(begun) == (1 if cut == "answered" else 0)
        twin = (await finish(clock, api.post("/exchanges", json=wanted))).raise_for_status().json()
        assert await orders(store) == [twin["serviceId"]]
        assert begun in ([], [twin["serviceId"]])
        assert [leg.key for leg in venue.opened] == [f"{twin['serviceId']}:in"]
        assert twin["depositAddress"]


@pytest.mark.parametrize("cut", ["asked", "answered"])
@pytest.mark.parametrize("private", [False, True])
async def test_a_group_whose_commit_is_cut_is_created_once(
    service: ServiceParts,
    store: Store,
    venue_list: list[PlainVenue],
    clock: ManualClock,
    wire: tuple[Wire, Path],
    cut: Any,
    private: bool,
) -> None:
    """And answered: no quote would tell its twin. Its own payouts are none that it meets."""
    for each in venue_list:
        each.traits = VenueTraits(payout_wallets=3)
    async with running(service, AS_FIRST) as api:
        wire[0].cut = cut
        body = ROTATED if private else TWO
        answer = await finish(clock, api.post("/exchanges/multi", json=body))
        assert wire[0].cuts == 1
        made = answer.raise_for_status().json()["orders"]
        assert set(await orders(store)) == {each["order"]["serviceId"] for each in made}
        assert all(each["order"]["depositAddress"] for each in made)
    used = await found(store, "SELECT DISTINCT used FROM usage WHERE rate_class = 'exchange'")
    assert (len(made), used) == (2, [(1,)])


@pytest.mark.parametrize("cut", ["asked", "answered"])
async def test_a_group_that_stays_in_doubt_is_found_in_the_list(
    service: ServiceParts, clock: ManualClock, wire: tuple[Wire, Path], cut: Any
) -> None:
    async with running(service, AS_FIRST) as api:
        wire[0].cut, wire[0].ends = cut, True
        answer = await finish(clock, api.post("/exchanges/multi", json=TWO))
        unavailable(answer)
        assert "not known yet whether the group was created" in answer.json()["message"]
        wire[0].ends = False
        listed = (await api.get("/orders")).json()["orders"]
    assert len(listed) == (2 if cut == "answered" else 0)
    assert len({order["multiId"] for order in listed}) == (1 if listed else 0)


async def test_a_group_is_answered_though_the_store_tells_no_more_of_it(
    service: ServiceParts, store: Store, clock: ManualClock, wire: tuple[Wire, Path]
) -> None:
    """Its orders are created, and set up later."""
    async with running(service, AS_FIRST) as api:
        wire[0].cut, wire[0].ends = "told", True
        answer = await finish(clock, api.post("/exchanges/multi", json=TWO))
        made = answer.raise_for_status().json()["orders"]
        wire[0].ends = False
        assert set(await orders(store)) == {each["order"]["serviceId"] for each in made}


@pytest.mark.parametrize("cut", ["asked", "answered"])
async def test_changes_that_share_a_commit_that_is_cut_are_made_once(
    store: Store, wire: tuple[Wire, Path], cut: Any
) -> None:
    """Neither is told that it was made, and whoever looks next goes on from the row."""
    await begun(store, 1)
    await begun(store, 2)
    begin = await store.outbox.newest()
    wire[0].cut, wire[0].within = cut, b"INSERT INTO outbox"

    async def advanced() -> list[Any]:
        both = [store.orders.advance(order(number), expected_version=1) for number in (1, 2)]
        return await asyncio.gather(*both, return_exceptions=True)

    for told in await advanced():
        assert isinstance(told, StoreUnavailable)
        assert told.in_doubt
    assert await advanced() == [cut == "asked"] * 2
    assert wire[0].cuts == 1
    ids = [row.service_id for row in await announced(store, begin)]
    assert sorted(ids) == [order(1).service_id, order(2).service_id]


# What the server refuses, or does not get to


@asynccontextmanager
async def no_connection_free(
    server: OwnServer, database: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[None]:
    over = asyncio.Event()
    begun = asyncio.Semaphore(0)

    async def busy(_: object) -> None:
        begun.release()
        await over.wait()

    busies = [asyncio.create_task(store.database.read(busy)) for _ in range(2)]
    for _ in busies:
        await begun.acquire()
    with monkeypatch.context() as hurry:
        hurry.setattr(postgres, "_ANSWER_SECONDS", 0.01)
        yield
    over.set()
    await asyncio.gather(*busies)


@asynccontextmanager
async def a_replica(
    server: OwnServer, database: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[None]:
    """No server can be written to."""
    async with connected(server, "postgres") as other:
        await other.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
        await other.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = $1",
            database,
        )
        try:
            yield
        finally:
            await other.execute(f"ALTER DATABASE {database} RESET ALL")


@asynccontextmanager
async def demoted(
    server: OwnServer, database: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[None]:
    """The server became a replica while its connections stayed."""
    both = asyncio.Barrier(2)

    async def demote(db: Any) -> None:
        await both.wait()
        await db.run("SET default_transaction_read_only = on")

    await asyncio.gather(store.database.read(demote), store.database.read(demote))
    yield


@asynccontextmanager
async def held_tables(
    server: OwnServer, database: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[None]:
    """Somebody has the table for themselves, and is not waited for."""
    async with connected(server, database) as other, other.transaction():
        await other.execute("LOCK TABLE quotes IN ACCESS EXCLUSIVE MODE")
        yield


@asynccontextmanager
async def refusing(
    server: OwnServer, database: str, error_code: str, times: int = 1_000_000
) -> AsyncIterator[None]:
    """The insertion of an order fails so often with this code of the server."""
    async with connected(server, database) as other:
        # A sequence counts on, whatever becomes of the transaction.
        await other.execute(
            "CREATE SEQUENCE attempts;"
            "CREATE FUNCTION fail() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN"
            f" IF nextval('attempts') <= {times}"
            f" THEN RAISE EXCEPTION 'trouble' USING ERRCODE = '{error_code}'; END IF;"
            " RETURN NEW; END $$;"
            "CREATE TRIGGER failing BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION fail()"
        )
        try:
            yield
        finally:
            await other.execute("DROP FUNCTION fail CASCADE; DROP SEQUENCE attempts")


@pytest.mark.parametrize("trouble", [no_connection_free, a_replica, demoted, held_tables])
async def test_trouble_is_answered_503_and_over_when_it_is_over(
    api: httpx2.AsyncClient,
    server: OwnServer,
    database: str,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    trouble: Any,
) -> None:
    monkeypatch.setitem(postgres._SETTINGS, "lock_timeout", "20")
    wanted = await offered(api)
    async with trouble(server, database, store, monkeypatch):
        unavailable(await api.post("/exchanges", json=wanted))
    await nothing_is_half(store)
    made = (await api.post("/exchanges", json=wanted)).raise_for_status().json()
    assert await orders(store) == [made["serviceId"]]


@pytest.mark.parametrize(
    "error_code",
    [
        *("53100", "53200", "57014", "55P03", "57P01", "58030"),
        # Somebody stands in the way, however often it is begun anew.
        *("40001", "40P01"),
    ],
)
async def test_a_refused_order_is_no_half_order(
    api: httpx2.AsyncClient, server: OwnServer, database: str, store: Store, error_code: str
) -> None:
    """Full disk, no memory, too slow, locked, shut down, unreadable."""
    wanted = await offered(api)
    async with refusing(server, database, error_code):
        unavailable(await api.post("/exchanges", json=wanted))
        await nothing_is_half(store)
    made = (await api.post("/exchanges", json=wanted)).raise_for_status().json()
    assert await orders(store) == [made["serviceId"]]


@pytest.mark.parametrize("error_code", ["40001", "40P01"])
async def test_whoever_stands_in_the_way_is_let_pass(
    api: httpx2.AsyncClient, server: OwnServer, database: str, store: Store, error_code: str
) -> None:
    """A deadlock ends one of two: it is begun anew, and counts once."""
    wanted = await offered(api)
    async with refusing(server, database, error_code, times=2):
        (await api.post("/exchanges", json=wanted)).raise_for_status()
    used = await found(store, "SELECT DISTINCT used FROM usage WHERE rate_class = 'exchange'")
    assert (len(await orders(store)), used) == (1, [(1,)])


async def test_no_key_is_taken_of_partners_that_cannot_be_looked_at(
    service: ServiceParts,
    server: OwnServer,
    database: str,
    store: Store,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever has the table may revoke one just now; a look counts for five seconds."""
    monkeypatch.setitem(postgres._SETTINGS, "lock_timeout", "20")
    shop, key = await store.partners.create("Shop", Tier.PRO, Act(clock.now(), "operator"))
    async with running(service, {"authorization": f"{key.key}:{key.secret}"}) as api:
        async with connected(server, database) as other, other.transaction():
            await other.execute("LOCK TABLE partner_changes IN ACCESS EXCLUSIVE MODE")
            await other.execute("UPDATE api_keys SET revoked = 1")
            await other.execute("UPDATE partner_changes SET number = number + 1")
            await pass_seconds(clock, KNOWN_SECONDS)
            assert (await api.get("/orders")).status_code == 200
            await pass_seconds(clock, 1)
            unavailable(await api.get("/orders"))
            assert (await api.get("/ready")).status_code == 503
            for told in (service.hub.deliver(0), service.hub.find(shop.partner_id, "any")):
                with pytest.raises(StoreUnavailable, match="lock timeout"):
                    await told
        assert (await api.get("/orders")).status_code == 401


# What a service that starts is told


async def test_a_database_of_another_program_is_left_alone(server: OwnServer) -> None:
    for number, table in enumerate(("things (id INT)", "schema_version (version INT)"), start=1):
        name = f"foreign_{number}"
        async with connected(server, "postgres") as other:
            await other.execute(f"CREATE DATABASE {name}")
        async with connected(server, name) as other:
            await other.execute(f"CREATE TABLE {table}")
            with pytest.raises(SchemaError, match="tables of another program"):
                await Store.connect(Place(server.cluster.url(name)))
            tables = await other.fetchval(
                "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'"
            )
            assert tables == 1


async def test_a_server_that_cannot_be_used_is_named(server: OwnServer, database: str) -> None:
    url = server.cluster.url(database)
    async with connected(server, "postgres") as other:
        await other.execute(f"CREATE ROLE {GUARDED} LOGIN PASSWORD 'right'")
        await other.execute(f"CREATE DATABASE own OWNER {GUARDED}")
        await other.execute("CREATE ROLE stranger LOGIN")
    async with connected(server, "own") as other:
        await other.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    strange = server.cluster.url("own").replace("swapdesk@", "stranger@")
    guarded = server.cluster.url("own").replace("swapdesk@", f"{GUARDED}@")
    for place, told in (
        (Place(guarded, password="wrong"), "password authentication failed"),
        (Place(server.cluster.url("nowhere")), "does not exist"),
        (Place(strange), "denied.*make the user of the URL the owner"),
        (Place(f"postgresql://swapdesk@/x?host={server.socket.parent / 'gone'}"), "No such file"),
        (Place("postgresql://swapdesk@127.0.0.1:1/x"), "Connect call failed"),
        (Place("mysql://swapdesk@127.0.0.1/x"), "URL of the database cannot be read.*scheme"),
        (Place("postgresql://swapdesk@127.0.0.1:port/x"), "URL of the database.*'port'"),
    ):
        with pytest.raises(StoreUnavailable, match=told) as refused:
            await Store.connect(place)
        assert "wrong" not in str(refused.value)
    await (await Store.connect(Place(guarded, password="right"))).close()
    async with a_replica(server, database, None, None):
        with pytest.raises(StoreUnavailable):
            await Store.connect(Place(url))


# TLS. The server of the tests has none, so that it ends at a door before it, as at a balancer


class Door:
    """Takes connections for the server. With a context it agrees to TLS, else the server answers
    for itself."""

    def __init__(self, server: Path, context: ssl.SSLContext | None) -> None:
        self._server = server
        self._context = context
        self.encrypted = 0
        self._carrying: set[asyncio.Task[Any] | None] = set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._carrying.add(asyncio.current_task())
        answers, there = await asyncio.open_unix_connection(self._server)
        try:
            if self._context is not None:
                assert await reader.readexactly(8) == TLS_REQUEST
                writer.write(b"S")
                await writer.start_tls(self._context)
                self.encrypted += 1
            await asyncio.gather(_copied(reader, there), _copied(answers, writer))
        except (OSError, asyncio.IncompleteReadError):
            return  # the client did not like the certificate
        finally:
            writer.transport.abort()
            there.transport.abort()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        listener = await asyncio.start_server(self.carry, "127.0.0.1", 0)
        try:
            yield listener.sockets[0].getsockname()[1]
        finally:
            listener.close()
            await asyncio.gather(*filter(None, self._carrying))


TLS_REQUEST = struct.pack("!ll", 8, 80877103)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two, each of its own authority, for the name ``localhost``; their keys are in them."""
    made = tmp_path_factory.mktemp("certificates")
    return own_certificate(made, "own"), own_certificate(made, "other")


OWN, OTHER = 0, 1
SIGNED = "ca_file has to hold the certificate that signed it"
NAMED = "the URL has to name the host that it is for"


@pytest.mark.parametrize(
    ("host", "tls", "authority", "told"),
    [
        ("localhost", "verify-full", OWN, None),
        ("localhost", "require", None, None),
        ("localhost", "verify-full", OTHER, SIGNED),
        ("localhost", "verify-full", None, SIGNED),
        ("127.0.0.1", "verify-full", OWN, NAMED),
    ],
)
async def test_the_certificate_of_the_server_is_held_against_what_the_file_says(
    server: OwnServer,
    database: str,
    certificates: tuple[Path, Path],
    host: str,
    tls: Any,
    authority: int | None,
    told: str | None,
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates[OWN])
    door = Door(server.socket, context)
    ca_file = None if authority is None else certificates[authority]
    async with door.listening() as port:
        url = f"postgresql://swapdesk@{host}:{port}/{database}"
        place = Place(url, password="hidden-word", tls=tls, ca_file=ca_file)
        if told is None:
            store = await Store.connect(place)
            assert await store.orders.next_due() is None
            await store.close()
            assert door.encrypted == 2, "the one that looks at the schema, and that of the pool"
            return
        with pytest.raises(StoreUnavailable, match=told) as refused:
            await Store.connect(place)
        assert "hidden-word" not in str(refused.value)


@pytest.mark.parametrize("tls", ["require", "verify-full"])
async def test_a_server_without_tls_is_refused_where_it_is_required(
    server: OwnServer, database: str, tls: Any
) -> None:
    async with Door(server.socket, None).listening() as port:
        place = Place(f"postgresql://swapdesk@localhost:{port}/{database}", "hidden-word", tls=tls)
        with pytest.raises(StoreUnavailable, match="offers no TLS: let it") as refused:
            await Store.connect(place)
        assert "hidden-word" not in str(refused.value)
        # Whoever asks for none, takes what there is.
        await (await Store.connect(replace(place, tls=None))).close()
