"""Which test proves that a state of an order is reached by a real path.

A test is named by its file below ``tests`` and its function; the check beside this table asks
that every state has one and that every one exists.
"""

from __future__ import annotations

from swapdesk.wire.orders import DisplayStatus, LegStatus, OrderStatus

_FAULTS = "sandbox/test_order_faults.py"
_LIFE = "service/test_lifecycle.py"

STATUS: dict[OrderStatus, tuple[str, str]] = {
    OrderStatus.INITIALIZING: (
        "service/test_creation.py",
        "test_a_lost_answer_is_settled_by_the_worker",
    ),
    OrderStatus.NEW: ("service/test_fallback.py", "test_an_order_between_two_venues_is_new"),
    OrderStatus.WAITING: ("service/test_creation.py", "test_a_standard_order"),
    OrderStatus.CONFIRMING: (_LIFE, "test_a_standard_order_to_its_end"),
    OrderStatus.EXCHANGING: (_FAULTS, "test_a_hold_shows_and_ends_when_it_is_released"),
    OrderStatus.ANONYMIZING: (_FAULTS, "test_a_hold_shows_and_ends_when_it_is_released"),
    OrderStatus.FINISHED: (_FAULTS, "test_a_reverse_quote_pays_exactly_what_was_asked"),
    OrderStatus.EXPIRED: (_FAULTS, "test_what_expired_was_never_paid"),
    OrderStatus.FAILED: (_FAULTS, "test_a_failure_after_the_deposit_needs_somebody"),
    OrderStatus.REFUNDED: (
        _FAULTS,
        "test_a_refund_comes_back_on_its_own_chain_less_the_fee",
    ),
    OrderStatus.DELETED: (_FAULTS, "test_deletion"),
}

DISPLAY: dict[DisplayStatus, tuple[str, str]] = {
    DisplayStatus.WAITING_FOR_DEPOSIT: ("service/test_creation.py", "test_a_standard_order"),
    DisplayStatus.DEPOSIT_DETECTED: (_LIFE, "test_a_standard_order_to_its_end"),
    DisplayStatus.EXCHANGE_IN_PROGRESS: (_LIFE, "test_a_standard_order_to_its_end"),
    DisplayStatus.SENDING_TO_INTERMEDIARY: (_LIFE, "test_a_private_order_to_its_end"),
    DisplayStatus.REACHED_INTERMEDIARY: (_LIFE, "test_a_private_order_to_its_end"),
    DisplayStatus.INITIATING_SECOND_EXCHANGE: (_LIFE, "test_a_private_order_to_its_end"),
    DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS: (_LIFE, "test_a_private_order_to_its_end"),
    DisplayStatus.SENDING_TO_RECEIVER: (_LIFE, "test_a_private_order_to_its_end"),
    DisplayStatus.SWAP_COMPLETED: (_LIFE, "test_a_private_order_to_its_end"),
    DisplayStatus.EXPIRED: (_FAULTS, "test_a_late_deposit_is_told"),
    DisplayStatus.FAILED: (
        "sandbox/test_control.py",
        "test_fail_after_deposit",
    ),
    DisplayStatus.REFUNDED: (
        _FAULTS,
        "test_a_private_fixed_order_that_fails_half_way_returns_what_was_sent",
    ),
    DisplayStatus.DELETED: (_FAULTS, "test_deletion"),
}

LEG: dict[LegStatus, tuple[str, str]] = {
    LegStatus.NEW: ("service/test_fallback.py", "test_an_order_between_two_venues_is_new"),
    LegStatus.WAITING: (_LIFE, "test_a_private_order_to_its_end"),
    LegStatus.CONFIRMING: (_LIFE, "test_a_private_order_to_its_end"),
    LegStatus.EXCHANGING: (_LIFE, "test_a_private_order_to_its_end"),
    LegStatus.SENDING: (_LIFE, "test_a_private_order_to_its_end"),
    LegStatus.FINISHED: (_LIFE, "test_a_private_order_to_its_end"),
    LegStatus.FAILED: (_FAULTS, "test_a_private_floating_order_that_fails_half_way"),
    LegStatus.REFUNDED: (
        _FAULTS,
        "test_a_refund_comes_back_on_its_own_chain_less_the_fee",
    ),
    LegStatus.VERIFYING: (_FAULTS, "test_a_hold_shows_and_ends_when_it_is_released"),
    LegStatus.EXPIRED: (_FAULTS, "test_what_expired_was_never_paid"),
    LegStatus.FALLBACK: (_FAULTS, "test_a_fallback_payout_finishes_the_order"),
}

FLAGS: dict[str, tuple[str, str]] = {
    "actionRequired": (_FAULTS, "test_a_failure_after_the_deposit_needs_somebody"),
    "nonRefundable": (_FAULTS, "test_a_private_floating_order_that_fails_half_way"),
    "rerouted": (_FAULTS, "test_another_exchange_carries_a_declined_deposit_out"),
    "fixed": (_FAULTS, "test_a_reverse_quote_pays_exactly_what_was_asked"),
    "quotedInAmount": (_FAULTS, "test_another_exchange_carries_a_declined_deposit_out"),
    "quotedOutAmount": (_FAULTS, "test_another_exchange_carries_a_declined_deposit_out"),
    "refundHash": (_FAULTS, "test_a_refund_comes_back_on_its_own_chain_less_the_fee"),
    "refundChain": (_FAULTS, "test_a_refund_comes_back_on_its_own_chain_less_the_fee"),
    "refundAmount": (_FAULTS, "test_a_refund_comes_back_on_its_own_chain_less_the_fee"),
    "intermediateRefundAddress": (
        "service/test_exchange_terms.py",
        "test_an_intermediate_refund_address_is_for_private_routes",
    ),
    "orderFinishedReceived": (_LIFE, "test_a_standard_order_to_its_end"),
}
"""Fields of an order that tell of something unusual, by their wire names."""
