"""The tests of each error code: of what causes it, and of its answer by every operation."""

from __future__ import annotations

from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.operations import OPERATIONS

_BODIES = "service/test_http_bodies.py::"
_CREATE = "service/test_creation.py::"
_HTTP = "service/test_http.py::"
_TERMS = "service/test_exchange_terms.py::"
_QUOTING = "service/test_unpriced_routes.py::"
_REQUESTS = "service/test_quote_requests.py::"

CODES: dict[str, tuple[str, ...]] = {
    "BAD_REQUEST": (_BODIES + "test_bodies_that_are_no_json_object",),
    "INVALID_API_CREDENTIALS": ("service/test_access.py::test_access",),
    "PARTNER_ID_NOT_SUPPORTED": ("service/test_access.py::test_access",),
    "ACCESS_DENIED": ("service/test_access.py::test_access",),
    "FIXED_RATE_NOT_ALLOWED": (
        "service/test_fixed_quotes.py::test_an_account_without_fixed_rates",
        _TERMS + "test_an_account_without_fixed_rates",
    ),
    "NOT_FOUND": (
        _HTTP + "test_unknown_paths",
        "service/test_isolation.py::test_details_of_a_foreign_order_are_those_of_none",
        "service/test_multi_bundles.py::test_only_one_of_many_submissions_counts",
    ),
    "TOKEN_NOT_FOUND": (_REQUESTS + "test_tokens_that_cannot_be_swapped",),
    "TOKEN_DISABLED": (_REQUESTS + "test_tokens_that_cannot_be_swapped",),
    "ALREADY_SUBMITTED": (
        "service/dex/test_confirmation.py::test_one_transaction_counts",
        "service/test_multi_bundles.py::test_only_one_of_many_submissions_counts",
        "service/test_multi_claims.py::test_each_bundle_is_claimed_once_by_many_processes",
    ),
    "METHOD_NOT_ALLOWED": (_HTTP + "test_other_methods_are_refused_with_allow",),
    "STATIC_DEPOSIT_IN_USE": (
        _TERMS + "test_a_fixed_order_never_falls_back",
        "sandbox/test_order_faults.py::test_two_static_addresses_and_no_third",
    ),
    "PAYLOAD_TOO_LARGE": (_BODIES + "test_body_limit",),
    "UNSUPPORTED_MEDIA_TYPE": (_BODIES + "test_bodies_are_application_json",),
    "VALIDATION_ERROR": (
        "service/test_quotes.py::test_parameters_of_quotes",
        _BODIES + "test_bodies_are_closed_and_name_what_is_wrong",
    ),
    "AMOUNT_TOO_LOW": (_QUOTING + "test_both_sides_of_the_smallest_amount",),
    "QUOTE_OVER_LIMIT": (
        _QUOTING + "test_both_sides_of_the_dollar_cap",
        _QUOTING + "test_over_every_maximum",
    ),
    "INVALID_SWAP": (
        _CREATE + "test_quotes_that_cannot_be_used_are_refused_alike",
        _TERMS + "test_a_filtered_quote_is_refused",
    ),
    "FIXED_RATE_QUOTE_EXPIRED": (_TERMS + "test_a_fixed_rate_ends_with_its_quote",),
    "RATE_LIMIT_EXCEEDED": (
        "service/test_rate_classes.py::test_each_call_counts_in_its_class",
        "service/test_rate_classes.py::test_each_call_counts_in_its_class",
    ),
    "INTERNAL_SERVER_ERROR": (_HTTP + "test_a_defect_is_answered_without_details",),
    "PROVIDER_EXCHANGE_FAILED": (
        "service/test_orders_api.py::test_create_answers_502_when_no_venue_opens",
        "service/test_fallback.py::"
        "test_when_all_refuse_the_order_fails_and_the_quote_stays_consumed",
    ),
    "SERVICE_UNAVAILABLE": (
        _HTTP + "test_a_store_that_does_not_answer",
        _CREATE + "test_a_lost_answer_is_settled_by_the_worker",
    ),
}


def answers() -> dict[str, tuple[str, ...]]:
    """``operation CODE`` and its test: each pair is a case of one test that reads the whole
    answer."""
    return {
        f"{operation.name} {code}": (
            f"service/test_errors.py::test_error[{operation.name}-{code}]",
        )
        for operation in OPERATIONS
        for code in (*operation.errors, ErrorCode.METHOD_NOT_ALLOWED)
    }
