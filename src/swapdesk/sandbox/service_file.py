"""Reads the file of ``swapdesk serve --config``; every mistake is reported with its line. A venue
that this program cannot serve is no mistake: ``required`` says whether the service then refuses to
start."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.paths import read_private
from swapdesk.sandbox.tables import CHAIN_ROWS
from swapdesk.service.front import HOST, Front, network_of
from swapdesk.service.observation import LEVELS
from swapdesk.service.store.database import Place
from swapdesk.service.venues.onchain.assembly import POOL_KINDS, SOLVED_KINDS
from swapdesk.service.venues.onchain.reader import SHARE, ChainPlace, PoolPlace
from swapdesk.toml_document import TomlDocument, nearest, read_document
from swapdesk.wire.encoding.dialect import Dialect

FILE_LIMIT = 1024 * 1024
KINDS = (*POOL_KINDS, "meridian", "atoll", "exchange")
CHAINS = {row.short_name: row for row in CHAIN_ROWS if row.chain_id is not None and row.enabled}
"""The EVM chains of the catalogue that are enabled, by short name."""

_CODE = re.compile(r"[a-z0-9]{2,8}")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~-]+)+")
_TOKEN = re.compile(r"([^.\s]{1,40})\.([a-z0-9-]{1,64})")
_KEY = re.compile(rb"(?:0x)?([0-9a-fA-F]{64})\s*")


class VenueEntry(Struct, frozen=True):
    """A venue in the service file. ``lacks`` says what is missing to serve the venue; ``secret`` is
    the private key that signs its transactions."""

    code: str
    name: str
    kind: str
    required: bool
    contract: str = ""
    pools: Mapping[str, tuple[PoolPlace, ...]] = field(default_factory=dict)
    secret: bytes | None = None
    lacks: tuple[str, ...] = ()

    @property
    def shortfall(self) -> str:
        """A sentence that says what the venue lacks."""
        return f"{self.name} ({self.kind}) lacks {' and '.join(self.lacks)}"

    def __repr__(self) -> str:
        return f"VenueEntry({self.code})"


class PaymentsEntry(Struct, frozen=True):
    """How callers without credentials pay for calls. ``secret`` is the private key of the settling
    account."""

    chain: str
    token: str
    pay_to: str
    secret: bytes

    def __repr__(self) -> str:
        return f"PaymentsEntry({self.token} on {self.chain})"


class LogEntry(Struct, frozen=True):
    """The settings of the log: its ``level``, and whether it shows the addresses of callers."""

    level: str = "info"
    addresses: bool = False


class MetricsEntry(Struct, frozen=True):
    bind: str = "127.0.0.1"
    port: int = 0

    def beside(self, number: int) -> MetricsEntry | None:
        """Returns the metrics address of worker ``number``, counted from 1. Its port is ``number``
        above this entry's port. Returns None if there is no such port or this entry's port is 0."""
        port = self.port + number if self.port else 0
        return MetricsEntry(self.bind, port) if 0 < port <= 65_535 else None


class ServiceConfig(Struct, frozen=True):
    """The content of a service file. Without ``payments`` every call needs credentials; without
    ``store`` the database is a file in the directory ``data``."""

    data: Path
    bind: str
    port: int
    hosts: tuple[str, ...]
    dialect: Dialect
    intermediaries: tuple[tuple[str, str], ...]
    chains: tuple[ChainPlace, ...]
    venues: tuple[VenueEntry, ...]
    payments: PaymentsEntry | None = None
    http: Front = Front()
    store: Place | None = None
    log: LogEntry = LogEntry()
    metrics: MetricsEntry | None = None

    @property
    def lacking(self) -> list[VenueEntry]:
        return [venue for venue in self.venues if venue.lacks]

    def at(self, port: int | None, metrics: int | None) -> ServiceConfig:
        """Returns a copy with this port and this metrics port. If an argument is None, the port in
        the file is kept."""
        there = self if port is None else replace(self, port=port)
        if metrics is None:
            return there
        return replace(there, metrics=replace(self.metrics or MetricsEntry(), port=metrics))


class ServiceFileRefused(Exception):
    """Raised if the service file cannot be used; the message lists every problem with its line and
    key."""


def place_in(file: Path, key: tuple[str, ...]) -> str:
    """Returns the place of an entry in the file as ``path:line``. For a missing entry, it is the
    line of the entry's table; if the table is missing too, the path alone."""
    line = read_document(file, FILE_LIMIT).line_of(*key) if key else None
    return str(file) if line is None else f"{file}:{line}"


def read_service_file(file: Path) -> ServiceConfig:
    """Reads and checks the file. Raises ServiceFileRefused with all its problems."""
    if not file.exists():
        raise ServiceFileRefused(f"{file}: there is no such file")
    document = read_document(file, FILE_LIMIT, trusted=True)
    if not document.problems:
        config = _Reading(document).config()
        if not document.problems:
            return config
    raise ServiceFileRefused("; ".join(map(str, document.problems)))


Check = Callable[[Any], bool]
Keys = Mapping[str, tuple[Check, str]]


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and value.isprintable()


def _number(least: int, most: int) -> Check:
    return lambda value: type(value) is int and least <= value <= most


def _matches(pattern: re.Pattern[str]) -> Check:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _one_of(*choices: str) -> Check:
    return lambda value: isinstance(value, str) and value in choices


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _is(kind: type) -> Check:
    return lambda value: isinstance(value, kind)


def _address(value: Any) -> bool:
    if not isinstance(value, str) or _ADDRESS.fullmatch(value) is None:
        return False
    return value[2:] in (value[2:].lower(), value[2:].upper()) or checksummed(value) == value


def _node(value: Any) -> bool:
    if not _text(value):
        return False
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _public_url(value: Any) -> bool:
    if not _node(value):
        return False
    parts = urlsplit(value)
    plain = "@" not in parts.netloc and HOST.fullmatch(parts.hostname or "") is not None
    path = not parts.path or _PREFIX.fullmatch(parts.path) is not None
    return plain and path and not {"?", "#"} & set(value)


def _networks(value: Any) -> bool:
    try:
        return _list_of(_text)(value) and all(map(network_of, value))
    except ValueError:
        return False


def _database(value: Any) -> bool:
    if not _text(value):
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    named = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    # Several hosts have several ports, so that these cannot be read as one number.
    return parts.scheme in ("postgresql", "postgres") and named <= {"host", "port"}


def _without_password(value: Any) -> bool:
    user, at, _ = urlsplit(value).netloc.rpartition("@")
    return not (at and ":" in user)


_AN_ADDRESS = "must be an EVM address, with a right checksum where it has capitals"

TOP: Keys = {
    "data": (_text, "must be the path of a directory"),
    "bind": (_matches(HOST), "must be an address of this machine"),
    "port": (_number(0, 65_535), "must be a port from 0 to 65535; 0 takes a free one"),
    "hosts": (_list_of(_matches(HOST)), "must be a list of names without scheme and port"),
    "dialect": (_one_of("contract", "vendor"), "must be contract or vendor"),
    "intermediaries": (_list_of(_matches(_TOKEN)), "must be a list of SYMBOL.CHAIN"),
    "chains": (_is(dict), "must be tables: [chains.base]"),
    "venues": (_is(dict), "must be tables: [venues.CODE]"),
    "payments": (_is(dict), "must be a table"),
    "http": (_is(dict), "must be a table"),
    "store": (_is(dict), "must be a table"),
    "log": (_is(dict), "must be a table"),
    "metrics": (_is(dict), "must be a table"),
}
LOG: Keys = {
    "level": (_one_of(*LEVELS), f"must be one of {', '.join(LEVELS)}"),
    "addresses": (_is(bool), "must be true or false"),
}
METRICS: Keys = {
    "bind": (_matches(HOST), "must be an address of this machine"),
    "port": (_number(0, 65_535), "must be a port from 0 to 65535; 0 takes a free one"),
}
CHAIN: Keys = {
    "rpc": (_node, "must be the http or https address of a node"),
    "chain_id": (_number(1, 2**53), "must be the number that the node tells as eth_chainId"),
    "wrapped": (_address, _AN_ADDRESS),
    "confirmations": (_number(1, 10_000), "must be a number of blocks from 1"),
}
VENUE: Keys = {
    "kind": (_one_of(*KINDS), f"must be one of {', '.join(KINDS)}"),
    "name": (_text, "must be a text"),
    "required": (_is(bool), "must be true or false"),
    "contract": (_address, _AN_ADDRESS),
    "pools": (_list_of(_is(dict)), "must be a list of { chain, address, token0, token1, fee }"),
    "wallet_file": (_text, "must be the path of a file"),
    "credentials_file": (_text, "must be the path of a file"),
}
PAYMENTS: Keys = {
    "chain": (_text, "must be the short name of a chain of this file"),
    "token": (_address, _AN_ADDRESS),
    "pay_to": (_address, _AN_ADDRESS),
    "wallet_file": (_text, "must be the path of a file"),
}
HTTP: Keys = {
    "public_url": (_public_url, "must be http:// or https:// with a host, without a / at its end"),
    "prefix": (_matches(_PREFIX), "must begin with a / and end without one"),
    "trusted_proxies": (
        _networks,
        "must be a list of addresses and networks, such as 10.0.0.0/8, without bits beside them",
    ),
}
POOL: Keys = {
    "chain": (_text, "must be the short name of a chain of this file"),
    "address": (_address, _AN_ADDRESS),
    "token0": (_address, _AN_ADDRESS),
    "token1": (_address, _AN_ADDRESS),
    "fee": (_number(0, SHARE - 1), f"must be parts of {SHARE:,}, from 0"),
}


STORE: Keys = {
    "url": (
        _database,
        "must be postgresql://USER@HOST/DATABASE, also with several hosts; behind a ? stand host"
        " and port alone",
    ),
    "password_file": (_text, "must be the path of a file"),
    "tls": (_one_of("require", "verify-full"), "must be require or verify-full"),
    "ca_file": (_text, "must be the path of a file"),
    "connections": (_number(2, 100), "must be a number from 2 to 100"),
}
PASSWORD = "SWAPDESK_STORE_PASSWORD"


_NO_PASSWORD = f"must not hold the password: use a file, or {PASSWORD}"


def store_at(url: str) -> Place:
    """Returns how to connect to the database at a URL; the password comes from the environment.
    Raises ValueError, for example if the URL contains a password."""
    if not _database(url):
        raise ValueError(STORE["url"][1])
    if not _without_password(url):
        raise ValueError(_NO_PASSWORD)
    return Place(url, os.environ.get(PASSWORD) or None)


class _Reading:
    def __init__(self, document: TomlDocument) -> None:
        self._document = document
        self._base = document.file.absolute().parent

    def config(self) -> ServiceConfig:
        content = self._document.content
        needed = ("port",) if "store" in content else ("data", "port")
        top = self._checked(content, TOP, (), needed)
        if "chains" not in content:
            self._document.refuse(("chains",), TOP["chains"][1])
        chains = {
            name: place
            for name, table in top.get("chains", {}).items()
            if (place := self._chain(name, table)) is not None
        }
        venues = [
            venue
            for code, table in top.get("venues", {}).items()
            if (venue := self._venue(code, table, chains)) is not None
        ]
        matches = [_TOKEN.fullmatch(text) for text in top.get("intermediaries", [])]
        return ServiceConfig(
            data=self._base / Path(top.get("data", ".")).expanduser(),
            bind=top.get("bind", "127.0.0.1"),
            port=top.get("port", 0),
            hosts=tuple(top.get("hosts", ())),
            dialect=Dialect(top.get("dialect", "contract")),
            intermediaries=tuple((match[1], match[2]) for match in matches if match is not None),
            chains=tuple(chains.values()),
            venues=tuple(venues),
            payments=self._payments(top["payments"], chains) if "payments" in top else None,
            http=self._http(top.get("http", {})),
            store=self._store(top["store"]) if "store" in top else None,
            log=LogEntry(**self._checked(top.get("log", {}), LOG, ("log",), ())),
            metrics=MetricsEntry(**self._checked(top["metrics"], METRICS, ("metrics",), ("port",)))
            if "metrics" in top
            else None,
        )

    def _checked(
        self, table: Any, keys: Keys, where: tuple[str, ...], needed: tuple[str, ...]
    ) -> dict[str, Any]:
        if not isinstance(table, dict):
            self._document.refuse(where, "must be a table")
            return {}
        accepted = {}
        for name, value in table.items():
            if name not in keys:
                self._document.refuse((*where, name), "is unknown", nearest(name, keys))
            elif not keys[name][0](value):
                self._document.refuse((*where, name), keys[name][1])
            else:
                accepted[name] = value
        for name in needed:
            if name not in table:
                self._document.refuse_missing((*where, name))
        return accepted

    def _chain(self, name: str, table: Any) -> ChainPlace | None:
        where = ("chains", name)
        if name not in CHAINS:
            problem = "is no EVM chain of the catalogue"
            self._document.refuse(where, problem, nearest(name, CHAINS))
            return None
        keys = self._checked(table, CHAIN, where, ("rpc", "chain_id", "wrapped"))
        if not {"rpc", "chain_id", "wrapped"} <= keys.keys():
            return None
        return ChainPlace(
            name=name,
            chain_id=keys["chain_id"],
            rpc=keys["rpc"],
            wrapped=checksummed(keys["wrapped"]),
            confirmations=keys.get("confirmations", CHAINS[name].confirmations),
        )

    def _venue(self, code: str, table: Any, chains: Mapping[str, ChainPlace]) -> VenueEntry | None:
        where = ("venues", code)
        if _CODE.fullmatch(code) is None:
            self._document.refuse(where, "must be 2 to 8 small letters and digits")
            return None
        keys = self._checked(table, VENUE, where, ("kind",))
        kind = keys.get("kind")
        if kind is None:
            return None
        name, required = keys.get("name", code), keys.get("required", True)
        if kind not in POOL_KINDS:
            return VenueEntry(code, name, kind, required, lacks=self._lacks(kind, keys))
        for needed in ("contract", "pools"):
            if needed not in table:
                self._document.refuse_missing((*where, needed))
        secret, lacks = self._wallet(kind, keys)
        return VenueEntry(
            code,
            name,
            kind,
            required,
            contract=checksummed(keys["contract"]) if "contract" in keys else "",
            pools=self._pools(where, keys.get("pools", []), chains),
            secret=secret,
            lacks=lacks,
        )

    def _pools(
        self, where: tuple[str, ...], tables: list[Any], chains: Mapping[str, ChainPlace]
    ) -> dict[str, tuple[PoolPlace, ...]]:
        pools: dict[str, tuple[PoolPlace, ...]] = {}
        for number, table in enumerate(tables, start=1):
            place = (*where, f"pools {number}")
            keys = self._checked(table, POOL, place, tuple(POOL))
            if keys.keys() != POOL.keys():
                continue
            chain = keys["chain"]
            if not self._names_chain(chain, chains, place):
                continue
            pool = PoolPlace(
                checksummed(keys["address"]),
                checksummed(keys["token0"]),
                checksummed(keys["token1"]),
                keys["fee"],
            )
            pools[chain] = (*pools.get(chain, ()), pool)
        return pools

    def _names_chain(
        self, chain: str, chains: Mapping[str, ChainPlace], where: tuple[str, ...]
    ) -> bool:
        if chain in chains:
            return True
        problem = f"names {chain}, which is no chain of this file"
        self._document.refuse((*where, "chain"), problem, nearest(chain, chains))
        return False

    def _payments(
        self, table: Mapping[str, Any], chains: Mapping[str, ChainPlace]
    ) -> PaymentsEntry | None:
        where = ("payments",)
        keys = self._checked(table, PAYMENTS, where, tuple(PAYMENTS))
        if keys.keys() != PAYMENTS.keys() or not self._names_chain(keys["chain"], chains, where):
            return None
        try:
            secret = self._key(keys["wallet_file"])
        except ValueError as error:
            self._document.refuse((*where, "wallet_file"), f"is of no use: {error}")
            return None
        return PaymentsEntry(
            keys["chain"], checksummed(keys["token"]), checksummed(keys["pay_to"]), secret
        )

    def _http(self, table: Mapping[str, Any]) -> Front:
        keys = self._checked(table, HTTP, ("http",), ())
        return Front(
            public_url=keys.get("public_url", ""),
            prefix=keys.get("prefix", ""),
            proxies=tuple(map(network_of, keys.get("trusted_proxies", ()))),
        )

    def _store(self, table: Mapping[str, Any]) -> Place | None:
        where = ("store",)
        keys = self._checked(table, STORE, where, ("url",))
        if "url" not in keys:
            return None
        if not _without_password(keys["url"]):
            self._document.refuse((*where, "url"), _NO_PASSWORD)
            return None
        password = os.environ.get(PASSWORD) or None
        if "password_file" in keys:
            try:
                password = self._private(keys["password_file"]).decode().strip("\r\n")
                if not password or "\0" in password:
                    raise ValueError("it holds no password")
            except ValueError as error:
                problem = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
                self._document.refuse((*where, "password_file"), f"is of no use: {problem}")
        return Place(
            keys["url"],
            password,
            ca_file=self._certificates(keys),
            **{name: keys[name] for name in ("connections", "tls") if name in keys},
        )

    def _certificates(self, keys: Mapping[str, Any]) -> Path | None:
        if "ca_file" not in keys:
            return None
        where = ("store", "ca_file")
        file: Path = self._base / os.path.expanduser(keys["ca_file"])
        if keys.get("tls") != "verify-full":
            self._document.refuse(where, 'verifies nothing without tls = "verify-full"')
        try:
            ssl.create_default_context(cafile=file)
        except OSError as error:  # also of certificates that cannot be read
            self._document.refuse(where, f"is of no use: {error.strerror or error}")
        return file

    def _wallet(self, kind: str, keys: Mapping[str, Any]) -> tuple[bytes | None, tuple[str, ...]]:
        if kind not in SOLVED_KINDS:
            return None, ()
        if "wallet_file" not in keys:
            return None, ("wallet_file: the key of the account that settles its orders",)
        try:
            return self._key(keys["wallet_file"]), ()
        except ValueError as error:
            return None, (f"wallet_file: {error}",)

    def _key(self, named: str) -> bytes:
        """Reads the private key in the file that a ``wallet_file`` entry names, and returns it.
        Raises ValueError."""
        from eth_account import Account  # on use: it takes longer than all the rest

        file, held = self._base / os.path.expanduser(named), _KEY.fullmatch(self._private(named))
        if held is None:
            raise ValueError(f"{file} does not hold 64 hexadecimal digits")
        key = bytes.fromhex(held[1].decode())
        try:
            Account.from_key(key)
        except ValueError:
            raise ValueError(f"{file} does not hold the key of an account") from None
        return key

    def _private(self, named: str) -> bytes:
        file = self._base / os.path.expanduser(named)
        try:
            return read_private(file)
        except OSError as error:
            raise ValueError(f"{file} cannot be read: {error.strerror or error}") from None

    def _lacks(self, kind: str, keys: Mapping[str, Any]) -> tuple[str, ...]:
        if kind == "exchange":
            credentials = "credentials_file: the credentials of an account there"
            return (
                "an adapter: no centralised exchange has one yet",
                *(() if "credentials_file" in keys else (credentials,)),
            )
        return ("a source of live prices: this kind quotes from a market, not from pools",)
