"""The tests of what each input does, beyond its bounds, by operation and name on the wire."""

from __future__ import annotations

_MULTI = "service/test_multi.py::"
_BUNDLES = "service/test_multi_bundles.py::"
_SOLANA = "service/test_multi_solana.py::"
_CATALOG = "service/test_catalog.py::"
_CHOICE = "service/test_route_choice.py::"
_CHAIN = "service/dex/test_isthmus.py::"
_CONFIRM = "service/dex/test_confirmation.py::"
_CREATES = "service/test_create_inputs.py::"
_DEX_ROWS = "service/dex/test_dex_quotes.py::"
_FIXED = "service/test_fixed_quotes.py::"
_MARKUP = "service/test_markup.py::"
_ACCOUNT = "service/test_partner_account.py::"
_ORDERS = "service/test_orders_api.py::"
_QUOTES = "service/test_quotes.py::"
_REQUESTS = "service/test_quote_requests.py::"
_ROTATION = "service/test_rotation.py::"

_LEGS = _CHOICE + "test_filters_of_the_legs"
_IDLE = _QUOTES + "test_inputs_without_effect_on_centralized_routes"
_LIST = _ORDERS + "test_lists_filter_sort_and_page"

INPUTS: dict[str, tuple[str, ...]] = {
    "list_chains hasCex": (_CATALOG + "test_chains",),
    "list_chains hasDex": (_CATALOG + "test_chains",),
    "list_chains kind": (_CATALOG + "test_chains",),
    "list_chains name": (_CATALOG + "test_chains",),
    "list_chains chainId": (_CATALOG + "test_chains",),
    "list_chains memoNeeded": (_CATALOG + "test_chains",),
    "list_chains page": (_CATALOG + "test_pages_of_chains",),
    "list_chains pageSize": (_CATALOG + "test_pages_of_chains",),
    "list_tokens pageSize": (_CATALOG + "test_pages",),
    "list_tokens page": (_CATALOG + "test_pages",),
    "list_tokens term": (_CATALOG + "test_term",),
    "list_tokens chain": (_CATALOG + "test_filters",),
    "list_tokens mainnet": (_CATALOG + "test_filters",),
    "list_tokens hasCex": (_CATALOG + "test_filters",),
    "list_tokens hasDex": (_CATALOG + "test_filters",),
    "list_tokens address": (_CATALOG + "test_filters",),
    "list_tokens symbol": (_CATALOG + "test_filters",),
    "list_tokens unverified": (_CATALOG + "test_unverified_tokens_come_beside_the_others",),
    "list_tokens hasSelfPrivate": (_CATALOG + "test_filters",),
    "list_tokens hasBundler": (_CATALOG + "test_filters",),
    "get_token id": (_CATALOG + "test_one_token",),
    "list_swaps isDex": (_CATALOG + "test_filters_of_providers[isDex]",),
    "list_swaps markupSupported": (_CATALOG + "test_filters_of_providers[markupSupported]",),
    "list_swaps slippageSupported": (_CATALOG + "test_filters_of_providers[slippageSupported]",),
    "get_pair_limits tokenIdFrom": ("service/test_pair_limits.py::test_sides_by_cex_id",),
    "get_pair_limits tokenIdTo": ("service/test_pair_limits.py::test_sides_by_cex_id",),
    "get_quotes amount": (_REQUESTS + "test_amounts_are_answered_exactly",),
    "get_quotes from": (_REQUESTS + "test_a_quote_is_for_the_tokens_that_were_named",),
    "get_quotes to": (_REQUESTS + "test_a_quote_is_for_the_tokens_that_were_named",),
    "get_quotes types": (_QUOTES + "test_types",),
    "get_quotes amountType": (
        _FIXED + "test_reverse_standard_rows",
        _FIXED + "test_receive_needs_a_fixed_rate",
    ),
    "get_quotes fixed": (
        _FIXED + "test_fixed_rows_come_from_those_with_fixed_rates_alone",
        _FIXED + "test_rows_are_floating_unless_asked",
    ),
    "get_quotes markup": (_MARKUP + "test_a_markup_is_in_the_price_of_those_that_take_one",),
    "get_quotes useXmr": (_CHOICE + "test_xmr_pins_the_hop",),
    "get_quotes swaps": (_CHOICE + "test_swaps_allow_and_leave_private_routes_out",),
    "get_quotes inLegIncludedSwaps": (_LEGS,),
    "get_quotes inLegExcludedSwaps": (_LEGS,),
    "get_quotes outLegIncludedSwaps": (_LEGS,),
    "get_quotes outLegExcludedSwaps": (_LEGS,),
    "get_quotes rotatePayoutWallets": (
        _ROTATION + "test_a_rotated_route_names_an_unused_wallet",
        _ROTATION + "test_standard_routes_are_not_rotated",
    ),
    "get_quotes deviationThreshold": (_ROTATION + "test_a_rotated_route_may_deviate_only_so_far",),
    "get_quotes rotationLookback": (_ROTATION + "test_only_so_many_orders_count",),
    "get_quotes rotateFallback": (_ROTATION + "test_strict_rotation_that_is_exhausted",),
    "get_quotes slippage": (_IDLE + "[slippage]", _DEX_ROWS + "test_slippage"),
    "get_quotes senderAddress": (
        _IDLE + "[senderAddress]",
        _DEX_ROWS + "test_another_recipient_filters_what_pays_the_sender_alone",
    ),
    "get_quotes receiverAddress": (
        _IDLE + "[receiverAddress]",
        _DEX_ROWS + "test_another_recipient_filters_what_pays_the_sender_alone",
    ),
    "get_quotes refundAddress": (_IDLE + "[refundAddress]",),
    "get_quotes sort": (
        _QUOTES + "test_sorting",
        _FIXED + "test_sorting_rows_of_one_amount_received",
    ),
    "get_quotes sortOrder": (
        _QUOTES + "test_sorting",
        _FIXED + "test_sorting_rows_of_one_amount_received",
    ),
    "get_private_send_quotes amount": (_REQUESTS + "test_private_send",),
    "get_private_send_quotes from": (_REQUESTS + "test_private_send",),
    "get_private_send_quotes fixed": (_FIXED + "test_fixed_private_send",),
    "get_private_send_quotes markup": (_MARKUP + "test_markup_of_private_sends",),
    "get_private_send_quotes useXmr": (_CHOICE + "test_xmr_pins_the_hop",),
    "get_private_send_quotes inLegIncludedSwaps": (_LEGS,),
    "get_private_send_quotes inLegExcludedSwaps": (_LEGS,),
    "get_private_send_quotes outLegIncludedSwaps": (_LEGS,),
    "get_private_send_quotes outLegExcludedSwaps": (_LEGS,),
    "get_private_send_quotes rotatePayoutWallets": (_ROTATION + "test_private_sends_are_rotated",),
    "get_private_send_quotes deviationThreshold": (
        _ROTATION + "test_bounds_of_the_rotation_of_private_sends",
    ),
    "get_private_send_quotes rotationLookback": (
        _ROTATION + "test_bounds_of_the_rotation_of_private_sends",
    ),
    "get_private_send_quotes rotateFallback": (
        _ROTATION + "test_bounds_of_the_rotation_of_private_sends",
    ),
    "get_private_send_quotes refundAddress": (
        _REQUESTS + "test_a_refund_address_changes_no_private_send",
    ),
    **{
        f"{operation} {name}": (_CREATES + test.replace("*", purpose),)
        for operation, purpose in (
            ("create_exchange", "exchange"),
            ("create_private_send", "private_send"),
        )
        for name, test in {
            "quoteId": "test_an_order_is_that_of_its_quote[*]",
            "addressTo": "test_an_order_is_that_of_its_quote[*]",
            "destinationTag": "test_a_payout_memo_reaches_the_last_venue[*]",
            "refundAddress": "test_a_refund_address_and_its_memo_reach_the_first_venue[*]",
            "refundExtraId": "test_a_refund_address_and_its_memo_reach_the_first_venue[*]",
            "intermediateRefundAddress": (
                "test_an_intermediate_refund_address_reaches_the_second_venue[*]"
            ),
            "walletInfo": "test_wallet_info_is_part_of_the_request_alone[*]",
            "markup": "test_a_markup_lowers_what_is_paid_out[*]",
            "inLegIncludedSwaps": "test_filters_of_the_legs[*-inLegIncludedSwaps]",
            "inLegExcludedSwaps": "test_filters_of_the_legs[*-inLegExcludedSwaps]",
            "outLegIncludedSwaps": "test_filters_of_the_legs[*-outLegIncludedSwaps]",
            "outLegExcludedSwaps": "test_filters_of_the_legs[*-outLegExcludedSwaps]",
        }.items()
    },
    "create_exchange addressFrom": (
        _CREATES + "test_a_sender_changes_nothing",
        "service/dex/test_basalt.py::test_a_create_needs_its_sender",
    ),
    "create_exchange signatures": (
        "service/dex/test_fathom.py::test_a_swap_with_a_permit",
        "service/dex/test_fathom.py::test_signatures_of_others_are_refused",
    ),
    **{
        f"{operation} {name}": ("service/dex/" + test,)
        for operation in ("dex_approve", "dex_allowance")
        for name, test in {
            "quoteId": "test_permission.py::test_a_permission_is_that_of_its_quote",
            "addressFrom": "test_permission.py::test_a_permission_is_that_of_its_owner",
            "usePermit": "test_permission.py::test_a_permit_or_an_approval",
        }.items()
    },
    "dex_chain_signatures quoteId": (_CHAIN + "test_a_step_is_that_of_its_quote_and_owner",),
    "dex_chain_signatures addressFrom": (_CHAIN + "test_a_step_is_that_of_its_quote_and_owner",),
    "dex_chain_signatures previousSignature": (
        _CHAIN + "test_a_step_is_that_of_its_quote_and_owner",
        _CHAIN + "test_steps_that_do_not_follow",
    ),
    "dex_chain_signatures signatureKey": (_CHAIN + "test_steps_that_do_not_follow",),
    "dex_chain_signatures signatureStep": (_CHAIN + "test_steps_that_do_not_follow",),
    "dex_confirm_transaction id": (_CONFIRM + "test_only_orders_of_this_partner_and_kind",),
    "dex_confirm_transaction txHash": (
        _CONFIRM + "test_one_transaction_counts",
        _CONFIRM + "test_another_transaction_is_none_of_this_order",
    ),
    "create_multi_exchange orders": (
        _MULTI + "test_a_group_is_created_new_and_opened_by_the_worker",
        _MULTI + "test_what_is_wrong_with_one_order_leaves_the_others_alone",
        _MULTI + "test_fifty_orders_and_not_one_more",
    ),
    "create_multi_exchange filters": (_MULTI + "test_filters_of_the_group_and_of_an_order",),
    "get_multi_exchange multiId": (_MULTI + "test_a_group_is_its_owners_for_48_hours",),
    **{
        f"{operation} multiId": (_BUNDLES + "test_a_foreign_group_is_no_group",)
        for operation in ("build_multi_transactions", "submit_multi_transactions")
    },
    "build_multi_transactions sender": (
        _BUNDLES + "test_a_bundle_from_the_build_to_its_confirmation",
        _BUNDLES + "test_orders_that_cannot_be_paid_by_a_bundle",
    ),
    "build_multi_transactions serviceIds": (
        _BUNDLES + "test_some_of_the_orders_and_later_the_others",
        _BUNDLES + "test_orders_that_cannot_be_paid_by_a_bundle",
    ),
    "submit_multi_transactions signatures": (_BUNDLES + "test_signatures_that_are_not_the_owners",),
    **{
        f"get_multi_transactions {name}": (
            _SOLANA + "test_deposits_in_sol",
            _SOLANA + "test_what_cannot_be_asked_for",
        )
        for name in ("multiId", "sender")
    },
    "receive_webhook source": (
        "service/test_webhooks.py::test_a_source_is_known_by_its_own_secret",
    ),
    "get_order serviceId": (
        _ORDERS + "test_create_details_and_list_give_the_same_object",
        "service/test_isolation.py::test_details_of_a_foreign_order_are_those_of_none",
    ),
    "list_orders page": (_LIST,),
    "list_orders pageSize": (_LIST,),
    "list_orders multiId": (_LIST, _MULTI + "test_the_list_of_orders_by_their_group"),
    "list_orders status": (_LIST,),
    "list_orders from": (_LIST, _ORDERS + "test_from_after_to_is_refused"),
    "list_orders to": (_LIST, _ORDERS + "test_from_after_to_is_refused"),
    "list_orders sortBy": (_LIST,),
    "list_orders sortOrder": (_LIST,),
    "list_orders anonymous": (_LIST,),
    "list_orders inTokenId": (_LIST,),
    "list_orders outTokenId": (_LIST,),
    "get_commissions month": (
        _ACCOUNT + "test_a_month_scopes_the_summary",
        _ACCOUNT + "test_payouts_by_month",
    ),
    "get_chart metric": (_ACCOUNT + "test_a_chart_by_day_and_by_month",),
    "get_chart granularity": (_ACCOUNT + "test_a_chart_by_day_and_by_month",),
    "get_chart from": (
        _ACCOUNT + "test_a_chart_by_day_and_by_month",
        _ACCOUNT + "test_from_after_to_is_refused_and_a_long_time_is_cut",
    ),
    "get_chart to": (
        _ACCOUNT + "test_a_chart_by_day_and_by_month",
        _ACCOUNT + "test_from_after_to_is_refused_and_a_long_time_is_cut",
    ),
}
