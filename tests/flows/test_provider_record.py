"""What became of this desk's orders at each provider."""

from datetime import timedelta
from decimal import Decimal

from flows.orders import NOW, intent, order
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.quotes.provider_record import ProviderRecord, provider_records, record_lines
from swapdesk.wire.orders import DisplayStatus


def ended(display, *, of=None, minutes=None, out=None, **changes):
    of = of or intent()
    changes["display_status"] = display.value
    if minutes is not None:
        changes["order_finished_received"] = NOW + timedelta(minutes=minutes)
    if out is not None:
        changes["out_amount"] = Decimal(out)
    return TrackedOrder(order(of, **changes), of, None, True, NOW, "stream")


DONE, BACK, LOST = DisplayStatus.SWAP_COMPLETED, DisplayStatus.REFUNDED, DisplayStatus.FAILED


def test_a_record_counts_ends_and_takes_medians():
    quoted = intent().amount_out
    orders = [
        ended(DONE, minutes=10, out=quoted),
        ended(DONE, minutes=12, out=quoted * Decimal("0.99")),
        ended(DONE, minutes=60, out=quoted * Decimal("1.01")),
        ended(BACK),
        ended(LOST),
    ]
    assert provider_records(orders) == {
        "hy": ProviderRecord(3, 1, 1, Decimal(12), Decimal(14), Decimal(0))
    }


def test_what_has_not_ended_or_is_not_ours_counts_nowhere():
    waiting = ended(DisplayStatus.WAITING_FOR_DEPOSIT)
    expired = ended(DisplayStatus.EXPIRED)
    private = ended(DONE, in_=None)
    other_desk = ended(DONE)
    other_desk = TrackedOrder(other_desk.order, None, None, True, NOW, "stream")
    assert provider_records([waiting, expired, private, other_desk]) == {}


def test_an_order_that_tells_no_times_is_counted_all_the_same():
    quoted = intent().amount_out
    record = provider_records([ended(DONE, out=quoted, eta=None)])["hy"]
    assert (record.completed, record.minutes, record.said) == (1, None, None)
    early = ended(DONE, minutes=-5, out=quoted)
    assert provider_records([early])["hy"].minutes is None


def test_the_record_in_words():
    record = ProviderRecord(3, 1, 0, Decimal(12), Decimal(14), Decimal("-0.5"))
    assert record_lines(record) == [
        ("Your orders there", "3 of 4 completed"),
        ("Refunded", "1"),
        ("Took, median", "12m, said ~14m"),
        ("Paid to the quote", "−0.50%"),
    ]
    assert record_lines(None) == [("Your orders there", "none has ended yet")]
