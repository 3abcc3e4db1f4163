"""The accounts of partners and their keys, as the store holds them and an operator changes them.

Of a secret there is only the digest. A key is revoked and an account suspended; neither is ever
deleted, so that no start of a sandbox brings it back. Every change counts up one number, by which
a running service sees that there is one.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from swapdesk.service.access import (
    Overrides,
    Scope,
    StoredKey,
    StoredPartner,
    Tier,
    digest,
)
from swapdesk.service.store.rows import micros, moment_of, transaction
from swapdesk.wire.account import RateWindows
from swapdesk.wire.encoding.dialect import Dialect

_COUNTED = "".join(
    f"CREATE TRIGGER {table}_{action.lower()} AFTER {action} ON {table}"  # noqa: S608 - our own
    " BEGIN UPDATE partner_changes SET number = number + 1; END;"
    for table in ("partners", "api_keys")
    for action in ("INSERT", "UPDATE", "DELETE")
)

_TABLES = """
CREATE TABLE partners (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    partner_id TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    tier       TEXT NOT NULL,
    created    INTEGER NOT NULL,
    suspended  INTEGER NOT NULL,
    overrides  TEXT NOT NULL,
    origins    TEXT NOT NULL
);

CREATE TABLE api_keys (
    number        INTEGER PRIMARY KEY AUTOINCREMENT,
    api_key       TEXT NOT NULL UNIQUE,
    partner_id    TEXT NOT NULL,
    secret_digest BLOB NOT NULL,
    scope         TEXT NOT NULL,
    dialect       TEXT,
    created       INTEGER NOT NULL,
    revoked       INTEGER
);
CREATE INDEX api_keys_of_partner ON api_keys (partner_id);

CREATE TABLE partner_changes (number INTEGER NOT NULL);
INSERT INTO partner_changes (number) VALUES (0);
"""
TABLES = _TABLES + _COUNTED

CHANGES = "SELECT number FROM partner_changes"

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9])?")
"""Names appear on terminals and in commands, so they are plain."""
PARTNER_ID = re.compile(r"[0-9a-f]{24}")


class PartnerRefused(Exception):
    """A change that is not made; the message says why."""


class NoSuchPartner(PartnerRefused):
    """No account has this id or name."""


class NoSuchKey(PartnerRefused):
    """No account has this key."""


class NoSuchOrigin(PartnerRefused):
    """The account does not have this page on its list."""


class NameTaken(PartnerRefused):
    """Another account has this name, whatever its case."""


# What a service does


def read(db: sqlite3.Connection) -> tuple[int, tuple[StoredPartner, ...]]:
    """Everything, from one snapshot."""
    with transaction(db, "DEFERRED"):
        (version,) = db.execute(CHANGES).fetchone()
        return int(version), tuple(_partners(db))


def add_missing(db: sqlite3.Connection, partners: Sequence[StoredPartner]) -> None:
    """Write the accounts and keys that are not there; those that are stay as they are. Belongs
    into a transaction."""
    for partner in partners:
        db.execute(_INSERT.format("OR IGNORE"), _values(partner))
        for key in partner.keys:
            db.execute(_INSERT_KEY.format("OR IGNORE"), _key_values(partner.partner_id, key))


# What an operator does, over a connection that writes


class NewKey(Struct, frozen=True):
    """A key with its secret, which is known to nobody but who is told now."""

    key: str
    secret: str


def find(db: sqlite3.Connection, which: str) -> StoredPartner:
    """The account of an id or a name. Raises NoSuchPartner, also for a name that several have: a
    sandbox whose key file was lost begins with new accounts of the same names."""
    everyone = list(_partners(db))
    found = [partner for partner in everyone if which in (partner.partner_id, partner.name)]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(partner.partner_id for partner in found)
        raise NoSuchPartner(f"Several partners are named {which}: give one of the ids {ids}.")
    known = ", ".join(partner.name for partner in everyone) or "none"
    raise NoSuchPartner(f"There is no partner {which}. Partners: {known}.")


def create(
    db: sqlite3.Connection, name: str, tier: Tier, now: datetime
) -> tuple[StoredPartner, NewKey]:
    """A new account with a full key. Raises NameTaken and PartnerRefused."""
    if NAME.fullmatch(name) is None or PARTNER_ID.fullmatch(name) is not None:
        raise PartnerRefused(
            "A name has at most 64 letters, digits, dots, hyphens, underscores and spaces, begins"
            " and ends with a letter or digit, and is no id of a partner."
        )
    new = _draw()
    partner = StoredPartner(
        secrets.token_hex(12), name, tier, now, keys=(_stored(new, "full", None, now),)
    )
    with transaction(db):
        taken = db.execute("SELECT 1 FROM partners WHERE lower(name) = lower(?)", (name,))
        if taken.fetchone() is not None:
            raise NameTaken(f"There is a partner {name} already.")
        db.execute(_INSERT.format(""), _values(partner))
        db.execute(_INSERT_KEY.format(""), _key_values(partner.partner_id, partner.keys[0]))
    return partner, new


def add_key(
    db: sqlite3.Connection, which: str, scope: Scope, dialect: Dialect | None, now: datetime
) -> tuple[StoredPartner, NewKey]:
    """A further key of an account, which it is returned with. Raises NoSuchPartner."""
    new = _draw()
    key = _stored(new, scope, dialect, now)
    with transaction(db):
        partner = find(db, which)
        db.execute(_INSERT_KEY.format(""), _key_values(partner.partner_id, key))
    return replace(partner, keys=(*partner.keys, key)), new


def revoke(db: sqlite3.Connection, key: str, now: datetime) -> StoredPartner:
    """Take a key no longer; one that was revoked before stays so since then. The account that had
    it. Raises NoSuchKey."""
    with transaction(db):
        db.execute(
            "UPDATE api_keys SET revoked = ? WHERE api_key = ? AND revoked IS NULL",
            (micros(now), key),
        )
        row = db.execute("SELECT partner_id FROM api_keys WHERE api_key = ?", (key,)).fetchone()
        if row is None:
            raise NoSuchKey("No partner has this key.")
        return find(db, row["partner_id"])


def suspend(db: sqlite3.Connection, which: str, suspended: bool) -> StoredPartner:
    """Refuse every call of an account, or take them again. Raises NoSuchPartner."""
    return _changed(db, which, suspended=suspended)


def set_tier(db: sqlite3.Connection, which: str, tier: Tier) -> StoredPartner:
    """Give an account the terms of a tier; its overrides stay. Raises NoSuchPartner."""
    return _changed(db, which, tier=tier)


def set_overrides(
    db: sqlite3.Connection, which: str, given: dict[str, Any], removed: Iterable[str] = ()
) -> StoredPartner:
    """Give overrides by their names in Overrides and remove others; what is not named stays. A
    window that is None keeps what is in force without those that are removed. Raises
    NoSuchPartner."""
    with transaction(db):
        partner = find(db, which)
        left = replace(partner, overrides=replace(partner.overrides, **dict.fromkeys(removed)))
        whole = {
            name: _filled(value, getattr(left.as_partner(), f"{name}_limits"))
            if isinstance(value, tuple)
            else value
            for name, value in given.items()
        }
        changed = replace(left, overrides=replace(left.overrides, **whole))
        db.execute(_UPDATE, _values(changed))
    return changed


def _filled(windows: tuple[int | None, ...], now: RateWindows) -> tuple[int, ...]:
    present = (now.per_minute, now.per_hour, now.per_day)
    return tuple(was if new is None else new for new, was in zip(windows, present, strict=True))


def set_origin(db: sqlite3.Connection, which: str, origin: str, allowed: bool) -> StoredPartner:
    """Add a page that may use the account's id, or remove one. Raises NoSuchPartner, and
    NoSuchOrigin where the one to be removed is not on the list."""
    with transaction(db):
        partner = find(db, which)
        if not allowed and origin not in partner.origins:
            said = ", ".join(partner.origins) or "every page is allowed"
            raise NoSuchOrigin(f"{origin} is not on the list: {said}.")
        others = tuple(each for each in partner.origins if each != origin)
        changed = replace(partner, origins=(*others, origin) if allowed else others)
        db.execute(_UPDATE, _values(changed))
    return changed


def _changed(db: sqlite3.Connection, which: str, **changes: Any) -> StoredPartner:
    with transaction(db):
        changed = replace(find(db, which), **changes)
        db.execute(_UPDATE, _values(changed))
    return changed


def _draw() -> NewKey:
    return NewKey(secrets.token_hex(16), secrets.token_urlsafe(32))


def _stored(new: NewKey, scope: Scope, dialect: Dialect | None, now: datetime) -> StoredKey:
    return StoredKey(new.key, digest(new.secret.encode()), scope, dialect, created=now)


# Rows

_INSERT = (
    "INSERT {} INTO partners (partner_id, name, tier, created, suspended, overrides, origins)"
    " VALUES (:partner_id, :name, :tier, :created, :suspended, :overrides, :origins)"
)
_UPDATE = (
    "UPDATE partners SET tier = :tier, suspended = :suspended, overrides = :overrides,"
    " origins = :origins WHERE partner_id = :partner_id"
)
_INSERT_KEY = (
    "INSERT {} INTO api_keys"
    " (api_key, partner_id, secret_digest, scope, dialect, created, revoked)"
    " VALUES (:key, :partner_id, :secret_digest, :scope, :dialect, :created, :revoked)"
)


def _values(partner: StoredPartner) -> dict[str, Any]:
    return {
        "partner_id": partner.partner_id,
        "name": partner.name,
        "tier": partner.tier.value,
        "created": micros(partner.created),
        "suspended": int(partner.suspended),
        "overrides": msgspec.json.encode(partner.overrides).decode(),
        "origins": msgspec.json.encode(partner.origins).decode(),
    }


def _key_values(partner_id: str, key: StoredKey) -> dict[str, Any]:
    return {
        "key": key.key,
        "partner_id": partner_id,
        "secret_digest": key.secret_digest,
        "scope": key.scope,
        "dialect": None if key.dialect is None else key.dialect.value,
        "created": micros(key.created),
        "revoked": None if key.revoked is None else micros(key.revoked),
    }


def _partners(db: sqlite3.Connection) -> Iterator[StoredPartner]:
    keys: dict[str, list[StoredKey]] = {}
    for row in db.execute("SELECT * FROM api_keys ORDER BY number"):
        keys.setdefault(row["partner_id"], []).append(_key_of(row))
    for row in db.execute("SELECT * FROM partners ORDER BY number"):
        yield StoredPartner(
            partner_id=row["partner_id"],
            name=row["name"],
            tier=Tier(row["tier"]),
            created=moment_of(row["created"]),
            suspended=bool(row["suspended"]),
            overrides=msgspec.json.decode(row["overrides"], type=Overrides),
            origins=msgspec.json.decode(row["origins"], type=tuple[str, ...]),
            keys=tuple(keys.get(row["partner_id"], ())),
        )


def _key_of(row: sqlite3.Row) -> StoredKey:
    return StoredKey(
        key=row["api_key"],
        secret_digest=bytes(row["secret_digest"]),
        scope=row["scope"],
        dialect=None if row["dialect"] is None else Dialect(row["dialect"]),
        created=moment_of(row["created"]),
        revoked=None if row["revoked"] is None else moment_of(row["revoked"]),
    )
