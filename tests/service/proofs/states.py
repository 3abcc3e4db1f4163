"""The tests that reach each state of an order by a real path, by the names on the wire."""

from __future__ import annotations

_FAULTS = "sandbox/test_order_faults.py::"
_LIFE = "service/test_lifecycle.py::"
_CREATE = "service/test_creation.py::"
_FALLBACK = "service/test_fallback.py::"
_TERMS = "service/test_exchange_terms.py::"

STATUS: dict[str, tuple[str, ...]] = {
    "INITIALIZING": (_CREATE + "test_a_lost_answer_is_settled_by_the_worker",),
    "NEW": (_FALLBACK + "test_an_order_between_two_venues_is_new",),
    "WAITING": (_CREATE + "test_a_standard_order",),
    "CONFIRMING": (_LIFE + "test_a_standard_order_to_its_end",),
    "EXCHANGING": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "ANONYMIZING": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "FINISHED": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "EXPIRED": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "FAILED": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "REFUNDED": (_FAULTS + "test_an_order_ends_as_its_story_says",),
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
    "FAILED": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "REFUNDED": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "DELETED": (_FAULTS + "test_deletion",),
}

LEG_STATUS: dict[str, tuple[str, ...]] = {
    "NEW": (_FALLBACK + "test_an_order_between_two_venues_is_new",),
    "WAITING": (_LIFE + "test_a_private_order_to_its_end",),
    "CONFIRMING": (_LIFE + "test_a_private_order_to_its_end",),
    "EXCHANGING": (_LIFE + "test_a_private_order_to_its_end",),
    "SENDING": (_LIFE + "test_a_private_order_to_its_end",),
    "FINISHED": (_LIFE + "test_a_private_order_to_its_end",),
    "FAILED": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "REFUNDED": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "VERIFYING": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "EXPIRED": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "FALLBACK": (_FAULTS + "test_an_order_ends_as_its_story_says",),
}

FIELDS: dict[str, tuple[str, ...]] = {
    "actionRequired": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "nonRefundable": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "rerouted": (_FAULTS + "test_another_exchange_carries_a_declined_deposit_out",),
    "fixed": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "quotedInAmount": (_FAULTS + "test_another_exchange_carries_a_declined_deposit_out",),
    "quotedOutAmount": (_FAULTS + "test_another_exchange_carries_a_declined_deposit_out",),
    "refundHash": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "refundChain": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "refundAmount": (_FAULTS + "test_an_order_ends_as_its_story_says",),
    "intermediateRefundAddress": (
        _TERMS + "test_an_intermediate_refund_address_is_for_private_routes",
    ),
    "orderFinishedReceived": (_LIFE + "test_a_standard_order_to_its_end",),
}
"""Fields of an order that tell of something unusual."""
