"""Accounts and keys in the store: changes of another connection reach a running service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from manual_time import pass_seconds
from rows import each_row
from service.http_calls import declined, running, small_service
from service.loopback import serving
from service.new_store import found, open_new
from service.test_stream import Listener, stream
from swapdesk.clock import ManualClock
from swapdesk.service.access import StoredPartner, Tier
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store.partners import (
    Act,
    NewKey,
    PartnerRefused,
    Partners,
)
from swapdesk.service.store.store import Store
from swapdesk.wire.encoding.dialect import Dialect


@pytest.fixture
def service(clock: ManualClock, store: Store) -> ServiceParts:
    """Without any partner of its own."""
    return small_service(clock, store, ())


@pytest.fixture
async def operator(store: Store, tmp_path: Path) -> AsyncIterator[Partners]:
    """Over a store of its own, as that of a command: not the service's."""
    opened = open_new(tmp_path / "service.db")
    yield opened.partners
    await opened.close()


def act(clock: ManualClock) -> Act:
    return Act(clock.now(), "operator")


def using(key: NewKey) -> dict[str, str]:
    return {"Authorization": f"{key.key}:{key.secret}"}


@contextmanager
def refused(what: str, match: str | None = None) -> Iterator[None]:
    with pytest.raises(PartnerRefused, match=match) as seen:
        yield
    assert seen.value.what == what


async def created(
    operator: Partners, clock: ManualClock, name: str = "Shop", tier: Tier = Tier.PRO
) -> tuple[StoredPartner, NewKey]:
    return await operator.create(name, tier, act(clock))


async def test_every_change_is_taken_up(
    service: ServiceParts, operator: Partners, clock: ManualClock
) -> None:
    made, _ = await created(operator, clock, tier=Tier.FREE)
    who = made.partner_id

    async def seen() -> Any:
        await service.partners.look()
        return service.directory.partners[who]

    assert (await seen()).quote_limits.per_day == 50
    assert not (await seen()).fixed_rates
    await operator.set_tier("Shop", Tier.PRO, act(clock))
    assert (await seen()).quote_limits.per_day == 5000
    assert (await seen()).fixed_rates
    given = {
        "read": (1, 2, 3),
        "exchange": (0, 0, 0),
        "fee_share": Decimal("7.25"),
        "default_markup": Decimal(1),
        "fixed_rates": False,
    }
    await operator.set_overrides(who, given, (), "given", act(clock))
    found = await seen()
    assert (found.read_limits.per_minute, found.exchange_limits.per_day) == (1, 0)
    assert (found.earns_of_fees, found.default_markup) == (Decimal("7.25"), 1)
    assert not found.fixed_rates
    await operator.set_tier(who, Tier.FREE, act(clock))
    assert (await seen()).read_limits.per_day == 3, "an override outlives a change of the tier"
    await operator.set_overrides(who, {}, given, "removed", act(clock))
    assert (await seen()).earns_of_fees == 0
    assert (await seen()).read_limits.per_minute == 60
    await operator.set_origin(who, "https://shop.example", True, act(clock))
    await operator.set_origin(who, "https://shop.example", True, act(clock))
    assert (await seen()).allowed_origins == ("https://shop.example",)
    await operator.set_origin(who, "https://shop.example", False, act(clock))
    assert (await seen()).allowed_origins == ()
    await operator.suspend(who, True, act(clock))
    assert (await seen()).suspended


async def test_keys_differ_in_scope_and_dialect_and_one_is_revoked_alone(
    service: ServiceParts, operator: Partners, clock: ManualClock
) -> None:
    _, first = await created(operator, clock)
    async with running(service) as api:
        _, reader = await operator.add_key("Shop", "read", Dialect.VENDOR, act(clock))
        await pass_seconds(clock, 2)
        body = {"quoteId": "0" * 24, "addressTo": "x"}
        await declined(api.post("/exchanges", json=body, headers=using(reader)), "ACCESS_DENIED")
        assert (await api.get("/orders", headers=using(reader))).status_code == 200
        await operator.revoke(first.key, act(clock))
        await pass_seconds(clock, 2)
        assert (await api.get("/orders", headers=using(first))).status_code == 401
        assert (await api.get("/orders", headers=using(reader))).status_code == 200


async def test_streams_end_with_their_key_or_account(
    service: ServiceParts, operator: Partners, clock: ManualClock
) -> None:
    """Each with ``error`` AUTH_FAILED and 4401 (contract 11.2); that of another key goes on."""
    _, first = await created(operator, clock)
    _, second = await operator.add_key("Shop", "full", None, act(clock))
    async with (
        serving(service) as base,
        stream(base, using(first)) as one,
        stream(base, using(second)) as other,
    ):
        revoked, kept = Listener(one), Listener(other)
        for listener in (revoked, kept):
            assert (await listener.next())["type"] == "welcome"
        await operator.revoke(first.key, act(clock))
        await service.partners.look()
        told = await revoked.next()
        assert (told["type"], told["code"]) == ("error", "AUTH_FAILED")
        assert await revoked.closed() == 4401
        assert await kept.silent()
        await operator.suspend("Shop", True, act(clock))
        await service.partners.look()
        assert await kept.closed() == 4401


async def test_a_look_that_finds_nothing_new_reads_nothing(
    service: ServiceParts,
    operator: Partners,
    clock: ManualClock,
    store: Store,
) -> None:
    await created(operator, clock)
    await service.partners.look()
    before = service.directory.partners
    await store.calls.add_to_month("2026-11", {"somebody": 1})
    await service.partners.look()
    assert service.directory.partners is before


async def test_what_was_changed_outlives_the_next_seeding(
    store: Store, operator: Partners, clock: ManualClock
) -> None:
    made, key = await created(operator, clock)
    await operator.revoke(key.key, act(clock))
    await operator.set_tier("Shop", Tier.FREE, act(clock))
    number = await store.partners.changes()
    await store.partners.add_missing([made])
    _, (found,) = await store.partners.read()
    assert found.tier is Tier.FREE
    assert found.keys[0].revoked == clock.now()
    assert await store.partners.changes() == number


async def test_a_name_that_several_have_is_refused(
    store: Store, operator: Partners, clock: ManualClock
) -> None:
    made, _ = await created(operator, clock)
    twin = StoredPartner("f" * 24, made.name, made.tier, clock.now())
    await store.partners.add_missing([twin])
    with refused("partner", f"{made.partner_id}, {'f' * 24}"):
        await operator.find("Shop")
    assert await operator.find(twin.partner_id) == twin


async def test_the_secret_is_nowhere_in_the_store(
    store: Store, operator: Partners, clock: ManualClock
) -> None:
    _, key = await created(operator, clock)
    text = "".join(
        [
            str(await found(store, f"SELECT * FROM {table}"))  # noqa: S608 - of the list here
            for table in ("partners", "api_keys", "audit")
        ]
    )
    assert key.key in text
    assert key.secret not in text


@each_row("name", ["", " shop", "shop ", "shop\x1b[2J", "a" * 65, "0" * 24, "шоп"])
async def test_names_that_are_none(operator: Partners, clock: ManualClock, name: str) -> None:
    with pytest.raises(PartnerRefused, match="A name has"):
        await created(operator, clock, name)


async def test_names_and_keys_that_do_not_meet_an_account(
    operator: Partners, clock: ManualClock
) -> None:
    await created(operator, clock)
    noted = await operator.noted()
    with refused("taken"):
        await created(operator, clock, "SHOP")
    with refused("partner", "Partners: Shop"):
        await operator.suspend("Chop", True, act(clock))
    with refused("key"):
        await operator.revoke("0" * 32, act(clock))
    with refused("origin", "every page"):
        await operator.set_origin("Shop", "https://shop.example", False, act(clock))
    assert await operator.noted() == noted


async def test_what_an_operator_changes_is_written_down(
    operator: Partners, clock: ManualClock
) -> None:
    made, key = await created(operator, clock)
    clock.advance(60)
    given = {"read": (1, None, 3)}
    await operator.set_overrides("Shop", given, ("fee_share",), "in these words", act(clock))
    await operator.suspend("Shop", True, act(clock))
    await operator.revoke(key.key, act(clock))
    await operator.revoke(key.key, act(clock))
    noted = await operator.noted()
    assert {(one.by, one.partner_id) for one in noted} == {("operator", made.partner_id)}
    assert [one.action for one in noted] == [
        f"revoke {key.key}",
        "suspend",
        "override, in these words",
        "create",
    ]
    assert [one.at == clock.now() for one in noted] == [True, True, True, False]
