"""The accounts of partners and their API keys, of which only digests are stored. They are revoked
or suspended, never deleted. Every change increments a counter that running services watch."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal

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
from swapdesk.service.store.database import (
    Row,
    Subject,
    Transaction,
    insertion,
    micros,
    moment_of,
)
from swapdesk.wire.account import RateWindows
from swapdesk.wire.encoding.dialect import Dialect

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9])?")
"""Pattern of an account's name, plain because names appear on terminals and in commands."""
PARTNER_ID = re.compile(r"[0-9a-f]{24}")


class PartnerRefused(Exception):
    """Raised if a change of an account is refused. ``what`` says why: ``partner`` (no account, or
    several), ``key`` (no such API key), ``origin`` (website not listed), ``name`` (malformed) or
    ``taken`` (name in use)."""

    def __init__(
        self, what: Literal["partner", "key", "origin", "name", "taken"], message: str
    ) -> None:
        super().__init__(message)
        self.what = what


class NewKey(Struct, frozen=True):
    """A key with its secret. The secret is not stored, so it cannot be shown later."""

    key: str
    secret: str


class Act(Struct, frozen=True):
    at: datetime
    by: str


class Noted(Struct, frozen=True):
    """A record of a change that an operator made. ``action`` is the operator's command in short.
    ``partner`` is the name of the changed account; None if the account no longer exists."""

    PRINTED: ClassVar = {
        "at": "at", "by": "by", "action": "action", "partnerId": "partner_id",
        "partner": "partner",
    }  # fmt: skip

    at: datetime
    by: str
    action: str
    partner_id: str
    partner: str | None


class Partners(Subject):
    async def changes(self) -> int:
        return await self._value(int, _CHANGES) or 0

    async def read(self) -> tuple[int, tuple[StoredPartner, ...]]:
        """Returns the number of changes so far and all accounts, from one snapshot."""

        async def read(db: Transaction) -> tuple[int, tuple[StoredPartner, ...]]:
            changes = await db.row(_CHANGES)
            number = 0 if changes is None else int(changes["number"])
            return number, tuple(await _partners(db))

        return await self._database.snapshot(read)

    async def add_missing(self, accounts: Sequence[StoredPartner]) -> None:
        """Inserts the accounts and API keys that do not exist in the store yet."""

        async def added(db: Transaction) -> None:
            written = 0
            for partner in accounts:
                there = " ON CONFLICT (partner_id) DO NOTHING"
                written += await db.run(_INSERT + there, _values(partner))
                for key in partner.keys:
                    there = " ON CONFLICT (api_key) DO NOTHING"
                    written += await db.run(
                        _INSERT_KEY + there, _key_values(partner.partner_id, key)
                    )
            if written:
                await db.run(_CHANGED)

        await self._database.write(added)

    # What an operator does

    async def find(self, which: str) -> StoredPartner:
        """Returns the account with this id or name. Raises PartnerRefused if there is none, or
        several have the name."""
        return await self._database.snapshot(lambda db: _find(db, which))

    async def create(self, name: str, tier: Tier, act: Act) -> tuple[StoredPartner, NewKey]:
        """Creates an account with one API key of full scope. Raises PartnerRefused."""
        if NAME.fullmatch(name) is None or PARTNER_ID.fullmatch(name) is not None:
            raise PartnerRefused(
                "name",
                "A name has at most 64 letters, digits, dots, hyphens, underscores and spaces,"
                " begins and ends with a letter or digit, and is no id of a partner.",
            )
        new = _draw()
        key = _stored(new, "full", None, act)
        partner = StoredPartner(secrets.token_hex(12), name, tier, act.at, keys=(key,))

        async def created(db: Transaction) -> None:
            await db.alone("partners")
            if await db.row(
                "SELECT 1 FROM partners WHERE lower(name) = lower(:name)", {"name": name}
            ):
                raise PartnerRefused("taken", f"There is a partner {name} already.")
            await db.run(_INSERT, _values(partner))
            await db.run(_INSERT_KEY, _key_values(partner.partner_id, key))
            await _note(db, act, "create", partner.partner_id)

        await self._database.write(created)
        return partner, new

    async def add_key(
        self, which: str, scope: Scope, dialect: Dialect | None, act: Act
    ) -> tuple[StoredPartner, NewKey]:
        """Adds an API key to an account; returns both. Raises PartnerRefused."""
        new = _draw()
        key = _stored(new, scope, dialect, act)

        async def added(db: Transaction) -> StoredPartner:
            partner = await _find(db, which)
            await db.run(_INSERT_KEY, _key_values(partner.partner_id, key))
            await _note(db, act, f"key {key.key}", partner.partner_id)
            return replace(partner, keys=(*partner.keys, key))

        return await self._database.write(added), new

    async def revoke(self, key: str, act: Act) -> StoredPartner:
        """Revokes an API key and returns its account. A key that is already revoked keeps its time
        of revocation. Raises PartnerRefused."""
        values = {"api_key": key, "revoked": micros(act.at)}

        async def revoked(db: Transaction) -> StoredPartner:
            changed = await db.run(
                "UPDATE api_keys SET revoked = :revoked"
                " WHERE api_key = :api_key AND revoked IS NULL",
                values,
            )
            row = await db.row("SELECT partner_id FROM api_keys WHERE api_key = :api_key", values)
            if row is None:
                raise PartnerRefused("key", "No partner has this key.")
            if changed:
                await _note(db, act, f"revoke {key}", row["partner_id"])
            return await _find(db, row["partner_id"])

        return await self._database.write(revoked)

    async def suspend(self, which: str, suspended: bool, act: Act) -> StoredPartner:
        """Suspends an account, or restores it if ``suspended`` is False; returns the account.
        Raises PartnerRefused."""
        action = "suspend" if suspended else "suspend --lift"
        return await self._change(
            which, act, action, lambda partner: replace(partner, suspended=suspended)
        )

    async def set_tier(self, which: str, tier: Tier, act: Act) -> StoredPartner:
        """Changes the tier of an account, keeps its overrides, and returns the account. Raises
        PartnerRefused."""
        return await self._change(
            which, act, f"tier {tier.value}", lambda partner: replace(partner, tier=tier)
        )

    async def set_overrides(
        self, which: str, given: Mapping[str, Any], removed: Iterable[str], request: str, act: Act
    ) -> StoredPartner:
        """Sets and removes overrides, keeps all others, and returns the account. None within a rate
        limit of ``given`` keeps the present limit of that window. ``request`` is the operator's
        command, for the record. Raises PartnerRefused."""
        gone = dict.fromkeys(removed)

        def overridden(partner: StoredPartner) -> StoredPartner:
            left = replace(partner, overrides=replace(partner.overrides, **gone))
            whole = {
                name: _filled(value, getattr(left.terms, f"{name}_limits"))
                if isinstance(value, tuple)
                else value
                for name, value in given.items()
            }
            return replace(left, overrides=replace(left.overrides, **whole))

        return await self._change(which, act, f"override, {request}", overridden)

    async def set_origin(self, which: str, origin: str, allowed: bool, act: Act) -> StoredPartner:
        """Lists a website as allowed to use the account's id or, if ``allowed`` is False, takes it
        off the list. Returns the account. Raises PartnerRefused."""

        def listed(partner: StoredPartner) -> StoredPartner:
            if not allowed and origin not in partner.origins:
                listed_pages = ", ".join(partner.origins) or "every page is allowed"
                raise PartnerRefused("origin", f"{origin} is not on the list: {listed_pages}.")
            others = tuple(page for page in partner.origins if page != origin)
            return replace(partner, origins=(*others, origin) if allowed else others)

        action = f"origin {'add' if allowed else 'remove'} {origin}"
        return await self._change(which, act, action, listed)

    async def noted(self) -> list[Noted]:
        rows = await self._database.look(
            "SELECT at, operator, action, audit.partner_id, name FROM audit"
            " LEFT JOIN partners ON partners.partner_id = audit.partner_id"
            " ORDER BY audit.number DESC"
        )
        return [
            Noted(
                moment_of(row["at"]), row["operator"], row["action"], row["partner_id"], row["name"]
            )
            for row in rows
        ]

    async def _change(
        self,
        which: str,
        act: Act,
        action: str,
        change: Callable[[StoredPartner], StoredPartner],
    ) -> StoredPartner:
        async def changed(db: Transaction) -> StoredPartner:
            # What is changed is read and written as a whole.
            await db.alone("partners")
            partner = change(await _find(db, which))
            await db.run(_UPDATE, _values(partner))
            await _note(db, act, action, partner.partner_id)
            return partner

        return await self._database.write(changed)


async def _find(db: Transaction, which: str) -> StoredPartner:
    everyone = await _partners(db)
    matches = [partner for partner in everyone if which in (partner.partner_id, partner.name)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        ids = ", ".join(partner.partner_id for partner in matches)
        message = f"Several partners are named {which}: give one of the ids {ids}."
        raise PartnerRefused("partner", message)
    names = ", ".join(partner.name for partner in everyone) or "none"
    raise PartnerRefused("partner", f"There is no partner {which}. Partners: {names}.")


async def _note(db: Transaction, act: Act, action: str, partner_id: str) -> None:
    await db.run(_CHANGED)
    await note_act(db, act, action, partner_id)


async def note_act(db: Transaction, act: Act, action: str, partner_id: str) -> None:
    await db.run(
        insertion("audit", ("at", "operator", "action", "partner_id")),
        {"at": micros(act.at), "operator": act.by, "action": action, "partner_id": partner_id},
    )


def _filled(windows: tuple[int | None, ...], now: RateWindows) -> tuple[int, ...]:
    present = (now.per_minute, now.per_hour, now.per_day)
    return tuple(was if new is None else new for new, was in zip(windows, present, strict=True))


def _draw() -> NewKey:
    return NewKey(secrets.token_hex(16), secrets.token_urlsafe(32))


def _stored(new: NewKey, scope: Scope, dialect: Dialect | None, act: Act) -> StoredKey:
    return StoredKey(new.key, digest(new.secret.encode()), scope, dialect, created=act.at)


# Rows

_CHANGES = "SELECT number FROM partner_changes"
_CHANGED = "UPDATE partner_changes SET number = number + 1"
_INSERT = insertion(
    "partners", ("partner_id", "name", "tier", "created", "suspended", "overrides", "origins")
)
_UPDATE = (
    "UPDATE partners SET tier = :tier, suspended = :suspended, overrides = :overrides,"
    " origins = :origins WHERE partner_id = :partner_id"
)
_INSERT_KEY = insertion(
    "api_keys",
    ("api_key", "partner_id", "secret_digest", "scope", "dialect", "created", "revoked"),
)


def _values(partner: StoredPartner) -> dict[str, Any]:
    return {
        "partner_id": partner.partner_id,
        "name": partner.name,
        "tier": partner.tier.value,
        "created": micros(partner.created),
        "suspended": partner.suspended,
        "overrides": msgspec.json.encode(partner.overrides).decode(),
        "origins": msgspec.json.encode(partner.origins).decode(),
    }


def _key_values(partner_id: str, key: StoredKey) -> dict[str, Any]:
    return {
        "api_key": key.key,
        "partner_id": partner_id,
        "secret_digest": key.secret_digest,
        "scope": key.scope,
        "dialect": None if key.dialect is None else key.dialect.value,
        "created": micros(key.created),
        "revoked": None if key.revoked is None else micros(key.revoked),
    }


async def _partners(db: Transaction) -> list[StoredPartner]:
    keys: dict[str, list[StoredKey]] = {}
    for row in await db.rows("SELECT * FROM api_keys ORDER BY number"):
        keys.setdefault(row["partner_id"], []).append(_key_of(row))
    return [
        StoredPartner(
            partner_id=row["partner_id"],
            name=row["name"],
            tier=Tier(row["tier"]),
            created=moment_of(row["created"]),
            suspended=bool(row["suspended"]),
            overrides=msgspec.json.decode(row["overrides"], type=Overrides),
            origins=msgspec.json.decode(row["origins"], type=tuple[str, ...]),
            keys=tuple(keys.get(row["partner_id"], ())),
        )
        for row in await db.rows("SELECT * FROM partners ORDER BY number")
    ]


def _key_of(row: Row) -> StoredKey:
    return StoredKey(
        key=row["api_key"],
        secret_digest=bytes(row["secret_digest"]),
        scope=row["scope"],
        dialect=None if row["dialect"] is None else Dialect(row["dialect"]),
        created=moment_of(row["created"]),
        revoked=None if row["revoked"] is None else moment_of(row["revoked"]),
    )
