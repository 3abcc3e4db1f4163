"""The tests that reach each state of an order by a real path, by the names on the wire."""

from __future__ import annotations

_FAULTS = "sandbox/test_order_faults.py::"
_LIFE = "service/test_lifecycle.py::"
_CREATE = "service/test_creation.py::"
_FALLBACK = "service/test_fallback.py::"
_CONTROL = "sandbox/test_control.py::"
_TERMS = "service/test_exchange_terms.py::"

STATUS: dict[str, tuple[str, ...]] = {
    "INITIALIZING": (_CREATE + "test_a_lost_answer_is_settled_by_the_worker",),
    "NEW": (_FALLBACK + "test_an_order_between_two_venues_is_new",),
    "WAITING": (_CREATE + "test_a_standard_order",),
    "CONFIRMING": (_LIFE + "test_a_standard_order_to_its_end",),
    "EXCHANGING": (_FAULTS + "test_a_hold_shows_and_ends_when_it_is_released",),
    "ANONYMIZING": (_FAULTS + "test_a_hold_shows_and_ends_when_it_is_released",),
    "FINISHED": (_FAULTS + "test_a_reverse_quote_pays_exactly_what_was_asked",),
    "EXPIRED": (_FAULTS + "test_what_expired_was_never_paid",),
    "FAILED": (_FAULTS + "test_a_failure_after_the_deposit_needs_somebody",),
    "REFUNDED": (_FAULTS + "test_a_refund_comes_back_on_its_own_chain_less_the_fee",),
    "DELETED": (_FAULTS + "test_deletion",),
}

DISPLAY_STATUS: dict[str, tuple[str, ...]] = {
    "WAITING_FOR_DEPOSIT": (_CREATE + "test_a_standard_order",),
    "DEPOSIT_DETECTED": (_LIFE + "test_a_standard_order_to_its_end",),
    "EXCHANGE_IN_PROGRESS": (_LIFE + "test_a_standard_order_to_its_end",),
    "SENDING_TO_INTERMEDIARY": (_LIFE + "test_a_private_order_to_its_end",),
    "REACHED_INTERMEDIARY": (_LIFE + "test_a_private_order_to_its_end",),
    "INITIATING_SECOND_EXCHANGE": (_LIFE + "test_a_private_order_to_its_end",),
    "SECOND_EXCHANGE_IN_PROGRESS": (_LIFE + "test_a_private_order_to_its_end",),
    "SENDING_TO_RECEIVER": (_LIFE + "test_a_private_order_to_its_end",),
    "SWAP_COMPLETED": (_LIFE + "test_a_private_order_to_its_end",),
    "EXPIRED": (_FAULTS + "test_a_late_deposit_is_told",),
    "FAILED": (_CONTROL + "test_fail_after_deposit",),
    "REFUNDED": (_FAULTS + "test_a_private_fixed_order_that_fails_half_way_returns_what_was_sent",),
    "DELETED": (_FAULTS + "test_deletion",),
}

LEG_STATUS: dict[str, tuple[str, ...]] = {
    "NEW": (_FALLBACK + "test_an_order_between_two_venues_is_new",),
    "WAITING": (_LIFE + "test_a_private_order_to_its_end",),
    "CONFIRMING": (_LIFE + "test_a_private_order_to_its_end",),
    "EXCHANGING": (_LIFE + "test_a_private_order_to_its_end",),
    "SENDING": (_LIFE + "test_a_private_order_to_its_end",),
    "FINISHED": (_LIFE + "test_a_private_order_to_its_end",),
    "FAILED": (_FAULTS + "test_a_private_floating_order_that_fails_half_way",),
    "REFUNDED": (_FAULTS + "test_a_refund_comes_back_on_its_own_chain_less_the_fee",),
    "VERIFYING": (_FAULTS + "test_a_hold_shows_and_ends_when_it_is_released",),
    "EXPIRED": (_FAULTS + "test_what_expired_was_never_paid",),
    "FALLBACK": (_FAULTS + "test_a_fallback_payout_finishes_the_order",),
}

FIELDS: dict[str, tuple[str, ...]] = {
    "actionRequired": (_FAULTS + "test_a_failure_after_the_deposit_needs_somebody",),
    "nonRefundable": (_FAULTS + "test_a_private_floating_order_that_fails_half_way",),
    "rerouted": (_FAULTS + "test_another_exchange_carries_a_declined_deposit_out",),
    "fixed": (_FAULTS + "test_a_reverse_quote_pays_exactly_what_was_asked",),
    "quotedInAmount": (_FAULTS + "test_another_exchange_carries_a_declined_deposit_out",),
    "quotedOutAmount": (_FAULTS + "test_another_exchange_carries_a_declined_deposit_out",),
    "refundHash": (_FAULTS + "test_a_refund_comes_back_on_its_own_chain_less_the_fee",),
    "refundChain": (_FAULTS + "test_a_refund_comes_back_on_its_own_chain_less_the_fee",),
    "refundAmount": (_FAULTS + "test_a_refund_comes_back_on_its_own_chain_less_the_fee",),
    "intermediateRefundAddress": (
        _TERMS + "test_an_intermediate_refund_address_is_for_private_routes",
    ),
    "orderFinishedReceived": (_LIFE + "test_a_standard_order_to_its_end",),
}
"""Fields of an order that tell of something unusual."""
