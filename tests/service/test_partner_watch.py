"""Accounts and keys in the store: changes of another connection reach a running service."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from manual_time import pass_seconds
from service.http_calls import declined, running, small_service
from service.loopback import serving
from service.test_stream import Listener, stream
from swapdesk.clock import ManualClock
from swapdesk.service.access import StoredPartner, Tier
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store import partners
from swapdesk.service.store.database import connect
from swapdesk.service.store.partners import NewKey
from swapdesk.service.store.sqlite import SqliteStore
from swapdesk.wire.encoding.dialect import Dialect


@pytest.fixture
def service(clock: ManualClock, store: SqliteStore) -> ServiceParts:
    """Without any partner of its own."""
    return small_service(clock, store, ())


@pytest.fixture
def operator(store: SqliteStore) -> Iterator[sqlite3.Connection]:
    """A connection as that of a command: not one of the service."""
    with contextlib.closing(connect(store.path, writes=True)) as db:
        yield db


def using(key: NewKey) -> dict[str, str]:
    return {"Authorization": f"{key.key}:{key.secret}"}


def created(
    operator: sqlite3.Connection, clock: ManualClock, name: str = "Shop", tier: Tier = Tier.PRO
) -> tuple[StoredPartner, NewKey]:
    return partners.create(operator, name, tier, clock.now())


async def test_every_change_is_taken_up(
    service: ServiceParts, operator: sqlite3.Connection, clock: ManualClock
) -> None:
    made, _ = created(operator, clock, tier=Tier.FREE)
    who = made.partner_id

    async def seen() -> Any:
        await service.take_up_partners()
        return service.directory.partners[who]

    assert (await seen()).quote_limits.per_day == 50
    assert not (await seen()).fixed_rates
    partners.set_tier(operator, "Shop", Tier.PRO)
    assert (await seen()).quote_limits.per_day == 5000
    assert (await seen()).fixed_rates
    given = {
        "read": (1, 2, 3),
        "exchange": (0, 0, 0),
        "fee_share": Decimal("7.25"),
        "default_markup": Decimal(1),
        "fixed_rates": False,
    }
    partners.set_overrides(operator, who, given)
    found = await seen()
    assert (found.read_limits.per_minute, found.exchange_limits.per_day) == (1, 0)
    assert (found.earns_of_fees, found.default_markup) == (Decimal("7.25"), 1)
    assert not found.fixed_rates
    partners.set_tier(operator, who, Tier.FREE)
    assert (await seen()).read_limits.per_day == 3, "an override outlives a change of the tier"
    partners.set_overrides(operator, who, {}, removed=given)
    assert (await seen()).earns_of_fees == 0
    assert (await seen()).read_limits.per_minute == 60
    partners.set_origin(operator, who, "https://shop.example", allowed=True)
    partners.set_origin(operator, who, "https://shop.example", allowed=True)
    assert (await seen()).allowed_origins == ("https://shop.example",)
    partners.set_origin(operator, who, "https://shop.example", allowed=False)
    assert (await seen()).allowed_origins == ()
    partners.suspend(operator, who, True)
    assert (await seen()).suspended


async def test_keys_differ_in_scope_and_dialect_and_one_is_revoked_alone(
    service: ServiceParts, operator: sqlite3.Connection, clock: ManualClock
) -> None:
    _, first = created(operator, clock)
    async with running(service) as api:
        _, reader = partners.add_key(operator, "Shop", "read", Dialect.VENDOR, clock.now())
        await pass_seconds(clock, 2)
        body = {"quoteId": "0" * 24, "addressTo": "x"}
        await declined(api.post("/exchanges", json=body, headers=using(reader)), "ACCESS_DENIED")
        assert (await api.get("/orders", headers=using(reader))).status_code == 200
        partners.revoke(operator, first.key, clock.now())
        await pass_seconds(clock, 2)
        assert (await api.get("/orders", headers=using(first))).status_code == 401
        assert (await api.get("/orders", headers=using(reader))).status_code == 200


async def test_streams_end_with_their_key_or_account(
    service: ServiceParts, operator: sqlite3.Connection, clock: ManualClock
) -> None:
    """Each with ``error`` AUTH_FAILED and 4401 (contract 11.2); that of another key goes on."""
    _, first = created(operator, clock)
    _, second = partners.add_key(operator, "Shop", "full", None, clock.now())
    async with (
        serving(service) as base,
        stream(base, using(first)) as one,
        stream(base, using(second)) as other,
    ):
        revoked, kept = Listener(one), Listener(other)
        for listener in (revoked, kept):
            assert (await listener.next())["type"] == "welcome"
        partners.revoke(operator, first.key, clock.now())
        await service.take_up_partners()
        told = await revoked.next()
        assert (told["type"], told["code"]) == ("error", "AUTH_FAILED")
        assert await revoked.closed() == 4401
        assert await kept.silent()
        partners.suspend(operator, "Shop", True)
        await service.take_up_partners()
        assert await kept.closed() == 4401


async def test_a_look_that_finds_nothing_new_reads_nothing(
    service: ServiceParts,
    operator: sqlite3.Connection,
    clock: ManualClock,
    store: SqliteStore,
) -> None:
    created(operator, clock)
    await service.take_up_partners()
    before = service.directory.partners
    await store.add_requests("2026-11", {"somebody": 1})
    await service.take_up_partners()
    assert service.directory.partners is before


async def test_what_was_changed_outlives_the_next_seeding(
    store: SqliteStore, operator: sqlite3.Connection, clock: ManualClock
) -> None:
    made, key = created(operator, clock)
    partners.revoke(operator, key.key, clock.now())
    partners.set_tier(operator, "Shop", Tier.FREE)
    number = store.partner_changes()
    await store.add_partners([made])
    _, (found,) = await store.read_partners()
    assert found.tier is Tier.FREE
    assert found.keys[0].revoked == clock.now()
    assert store.partner_changes() == number


async def test_a_name_that_several_have_is_refused(
    store: SqliteStore, operator: sqlite3.Connection, clock: ManualClock
) -> None:
    made, _ = created(operator, clock)
    twin = StoredPartner("f" * 24, made.name, made.tier, clock.now())
    await store.add_partners([twin])
    with pytest.raises(partners.NoSuchPartner, match=f"{made.partner_id}, {'f' * 24}"):
        partners.find(operator, "Shop")
    assert partners.find(operator, twin.partner_id) == twin


def test_the_secret_is_nowhere_in_the_file(
    operator: sqlite3.Connection, clock: ManualClock
) -> None:
    _, key = created(operator, clock)
    assert key.key in (text := "\n".join(operator.iterdump()))
    assert key.secret not in text


@pytest.mark.parametrize("name", ["", " shop", "shop ", "shop\x1b[2J", "a" * 65, "0" * 24, "шоп"])
def test_names_that_are_none(operator: sqlite3.Connection, clock: ManualClock, name: str) -> None:
    with pytest.raises(partners.PartnerRefused, match="A name has"):
        created(operator, clock, name)


def test_names_and_keys_that_do_not_meet_an_account(
    operator: sqlite3.Connection, clock: ManualClock
) -> None:
    created(operator, clock)
    with pytest.raises(partners.NameTaken):
        created(operator, clock, "SHOP")
    with pytest.raises(partners.NoSuchPartner, match="Partners: Shop"):
        partners.suspend(operator, "Chop", True)
    with pytest.raises(partners.NoSuchKey):
        partners.revoke(operator, "0" * 32, clock.now())
    with pytest.raises(partners.NoSuchOrigin, match="every page"):
        partners.set_origin(operator, "Shop", "https://shop.example", allowed=False)
    assert not operator.in_transaction
