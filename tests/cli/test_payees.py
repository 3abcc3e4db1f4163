"""Recipients of the command line, measured by what the journal and the catalogue know."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from flows.marketplace import api, clock, venues, world
from flows.orders import NOW, created_here, order
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.cli.command_error import CommandError
from swapdesk.cli.creation import Payees, read_payees
from swapdesk.cli.quote_options import CreateRequest, RouteWish
from swapdesk.client.api import PartnerApi
from swapdesk.clock import ManualClock
from swapdesk.flows.catalog.catalog import resolve
from swapdesk.flows.desk import Desk
from swapdesk.flows.payees.recipients import token_contracts
from swapdesk.flows.quotes.quote_request import QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import rank
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.wire.orders import DisplayStatus
from swapdesk.wire.quotes import Quote
from swapdesk.wire.tokens import Token

__all__ = ["api", "clock", "venues", "world"]

KNOWN = checksummed("0x52908400098527886e0f7030069857d2e4169ee7")
TWIN = checksummed("0x5290ffffffffffffffffffffffffffffffff9ee7")
REQUEST = CreateRequest(
    amount="0.1",
    sell="btc",
    buy="eth",
    to=KNOWN,
    memo=None,
    memo_waived=False,
    refund=None,
    refund_memo=None,
    types=(),
    provider=None,
    quote_id=None,
    wish=RouteWish(),
    preset=None,
    min_out=None,
    middle_refund=None,
    max_loss=None,
    accept_warnings=False,
    fund=False,
    yes=True,
)


@pytest.fixture
def desk(tmp_path: Path, clock: ManualClock) -> Iterator[Desk]:
    opened = Desk.open(load_settings({}, Home.at(tmp_path)), clock=clock)
    yield opened
    opened.journal.close()
    opened.catalog.close()


async def payees(desk: Desk, api: PartnerApi, request: CreateRequest) -> Payees:
    await desk.catalog.refresh(api)
    quote = Quote(quote_id="a" * 24, type="standard", swap="aa", amount_out=Decimal(1))
    ranking = rank([quote], now=NOW, expires=lambda _: NOW + timedelta(seconds=60))
    wish = QuoteRequest(token(desk, "btc"), token(desk, "eth"), Decimal("0.1"))
    return read_payees(desk, request, QuoteResult(NOW, NOW, ranking, wish), ranking.rows[0])


def token(desk: Desk, spec: str) -> Token:
    found = resolve(spec, desk.catalog).token
    assert found is not None
    return found


def note(desk: Desk, receiver: str, display: DisplayStatus, name: str) -> None:
    seen = order(service_id=name, receiver_address=receiver, display_status=display.value)
    created_here(desk.journal, seen)


async def test_only_a_completed_order_has_paid_its_recipient(desk: Desk, api: PartnerApi) -> None:
    note(desk, KNOWN, DisplayStatus.WAITING_FOR_DEPOSIT, "waiting")
    found = await payees(desk, api, REQUEST)
    assert found.recipient.first_use
    note(desk, KNOWN, DisplayStatus.SWAP_COMPLETED, "completed")
    found = await payees(desk, api, REQUEST)
    assert "Paid once." in [line.text for line in found.lines]


async def test_an_imitation_that_was_created_and_never_paid_stays_refused(
    desk: Desk, api: PartnerApi
) -> None:
    note(desk, KNOWN, DisplayStatus.SWAP_COMPLETED, "completed")
    note(desk, TWIN, DisplayStatus.EXPIRED, "expired")
    with pytest.raises(CommandError) as caught:
        await payees(desk, api, replace(REQUEST, to=TWIN))
    assert caught.value.code == "LOOKALIKE_ADDRESS"


async def test_a_token_contract_of_the_chain_is_no_recipient(desk: Desk, api: PartnerApi) -> None:
    await desk.catalog.refresh(api)
    contract = token(desk, "usdc.ethereum").address
    assert contract in token_contracts(desk.catalog, token(desk, "eth"))
    assert contract not in token_contracts(desk.catalog, token(desk, "eth.base"))
    assert not token_contracts(desk.catalog, token(desk, "btc"))
    assert contract is not None
    with pytest.raises(CommandError) as caught:
        await payees(desk, api, replace(REQUEST, to=contract))
    assert caught.value.code == "BAD_RECIPIENT"


async def test_the_refund_memo_of_a_name_comes_along_and_a_wrong_one_is_refused(
    desk: Desk, api: PartnerApi
) -> None:
    found = await payees(desk, api, replace(REQUEST, refund="@cold"))
    assert (found.refund.ok, found.refund.memo) == (True, None)
    for wrong in (
        replace(REQUEST, refund="@cold", refund_memo="7"),
        replace(REQUEST, refund_memo="7"),
    ):
        with pytest.raises(CommandError) as caught:
            await payees(desk, api, wrong)
        assert caught.value.code == "BAD_REFUND_MEMO"
