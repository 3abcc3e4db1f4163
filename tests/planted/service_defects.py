"""Defects of the service and of the chains of the sandbox."""

from __future__ import annotations

from .defect import Defect

UNPAID = (
    "tests/service/test_paid_calls.py::test_of_eight_creates_at_once_with_money_for_one_one_is_told"
)

NO_PLACE = (
    "tests/service/test_create_inputs.py::"
    "test_the_deposit_address_of_an_order_is_no_place_to_pay_to"
)

GUARDS = "tests/service/test_venue_wrappers.py"
FRONT = "tests/service/test_front.py"
LIMITS = "tests/service/test_rate_limits.py"
BOUNDS = "tests/sandbox/test_http_bounds.py"
OBSERVED = "tests/service/test_observation.py"

SERVING = (
    Defect(
        "answer-before-the-commit",
        "An order that was confirmed to the partner is gone after a crash or on a full disk.",
        "swapdesk/service/store/sqlite.py",
        '            connection.execute("COMMIT")\n'
        "        except (sqlite3.Error, Taken) as error:\n",
        '            self._resolve(batch)\n            connection.execute("COMMIT")\n'
        "        except (sqlite3.Error, Taken) as error:\n",
        ("tests/service/test_store_file.py::test_an_answer_follows_the_commit",),
    ),
    Defect(
        "verdict-of-another-process",
        "A trader whose token another process found malicious is not warned.",
        "swapdesk/service/app.py",
        '            ("scans", _LOOK_SECONDS, parts.scans.catch_up),\n',
        "",
        ("tests/service/test_scans.py::test_a_verdict_is_known_to_every_process_a_second_later",),
    ),
    Defect(
        "doubtful-commit-told-as-unchanged",
        "An operator books a payout twice, since the first one is said to have changed nothing.",
        "swapdesk/cli/partner_report.py",
        "        if not error.in_doubt:\n",
        "        if True:\n",
        ("tests/sandbox/test_configured_service.py::test_partners_are_kept_in_postgresql",),
    ),
    Defect(
        "query-in-the-log",
        "Whoever reads the log has the secret that somebody sent in the address of a request.",
        "swapdesk/service/router.py",
        '        match = self._router.find(scope["method"], _path(scope))\n'
        "        operation = match",
        '        seen.call.operation = _path(scope) + scope["query_string"].decode()\n'
        '        match = self._router.find(scope["method"], _path(scope))\n'
        "        operation = match",
        (f"{OBSERVED}::test_a_line_for_each_request",),
    ),
    Defect(
        "address-in-the-log",
        "The log tells from where each partner calls although nobody asked for it.",
        "swapdesk/service/observation.py",
        "        if self._addresses:\n",
        "        if call.address:\n",
        (f"{OBSERVED}::test_the_address_only_where_it_is_asked_for",),
    ),
    Defect(
        "transition-without-a-line",
        "Nobody can tell from the log when the operator took an order off its partner's list.",
        "swapdesk/service/orders/presentation.py",
        "expected_version=current.version, before=current.status\n",
        "expected_version=current.version\n",
        (f"{OBSERVED}::test_a_line_for_each_transition",),
    ),
    Defect(
        "refusals-not-counted",
        "An operator whose partners are all refused sees no request at all.",
        "swapdesk/service/metrics.py",
        "        self._requests.labels(call.operation, call.status).inc()\n",
        "        if call.status >= 400:\n            return\n"
        "        self._requests.labels(call.operation, call.status).inc()\n",
        (f"{OBSERVED}::test_requests_creates_and_transitions_are_counted",),
    ),
    Defect(
        "stopped-worker-has-no-backlog",
        "Orders of a worker that was stopped wait, and no metric and no balancer tells of it.",
        "swapdesk/service/store/orders.py",
        "WHERE lease_until IS NOT NULL AND due_at IS NOT NULL) AS every",
        "WHERE lease_until IS NOT NULL AND due_at IS NULL) AS every",
        (f"{OBSERVED}::test_gauges_tell_how_it_stands",),
    ),
    Defect(
        "ready-without-a-node",
        "A balancer sends traders to a service that can follow no order, for its node is down.",
        "swapdesk/service/readiness.py",
        "        able = not answering or any(answering)\n",
        "        able = True\n",
        ("tests/service/test_readiness.py::test_each_part_by_name",),
    ),
    Defect(
        "ready-without-a-worker",
        "A balancer sends traders to a service whose workers were never started: what they pay in"
        " is not followed.",
        "swapdesk/service/readiness.py",
        "            attended = seen is not None and _age(seen, now) <= ABSENT_SECONDS\n",
        "",
        ("tests/service/test_readiness.py::test_no_worker_has_come",),
    ),
    Defect(
        "outgrown-release-goes-on",
        "A release that a newer one has ended writes orders into tables that it does not know.",
        "swapdesk/service/app.py",
        "    await parts.store.close()\n    for task",
        "    for task",
        ("tests/service/test_outgrown.py::test_work_ends_and_leaves_no_half_order",),
    ),
    Defect(
        "order-state-overwritten",
        "Two workers move one order, and the later one takes the state of the first back.",
        "swapdesk/service/store/orders.py",
        '" WHERE service_id = :service_id AND version = :expected AND rank <= :rank"',
        '" WHERE service_id = :service_id AND rank <= :rank"',
        ("tests/service/test_store.py::test_a_state_moves_by_compare_and_set_and_never_back",),
    ),
    Defect(
        "wallet-numbers-twice",
        "Two processes give two transactions of one wallet the same number, and one is lost.",
        "swapdesk/service/store/postgres.py",
        "SELECT pg_advisory_lock(hashtextextended($1, 1))",
        "SELECT hashtextextended($1, 1)",
        (
            "tests/service/test_hot_wallets.py::"
            "test_two_processes_number_their_transactions_in_turn",
        ),
    ),
    Defect(
        "payment-freed-by-another-call",
        "A second process frees a payment that serves another call by then, whose order stays"
        " untold though it is paid.",
        "swapdesk/service/store/payments.py",
        "AND COALESCE(sent, '') = :sent",
        "AND :sent <> 'nothing'",
        (
            "tests/service/test_paid_calls.py::"
            "test_a_payment_is_freed_by_the_call_that_it_served_alone",
        ),
    ),
    Defect(
        "lease-that-outlives-its-worker",
        "The order of a killed worker waits while its rate runs out.",
        "swapdesk/service/orders/lifecycle.py",
        "LEASE = timedelta(seconds=8)",
        "LEASE = timedelta(seconds=30)",
        (
            "tests/service/test_kill_loop.py::"
            "test_the_order_of_a_killed_worker_is_taken_within_ten_seconds",
        ),
    ),
    Defect(
        "lease-by-the-own-clock",
        "A worker whose clock is ahead takes orders that another one still works on.",
        "swapdesk/service/store/orders.py",
        "WHERE lease_until <= :at AND",
        "WHERE lease_until <= :now AND",
        ("tests/service/test_roles.py::test_leases_are_by_the_clock_of_the_database",),
    ),
    Defect(
        "fallback-without-its-markup",
        "An order that falls back to another venue earns its partner nothing.",
        "swapdesk/service/orders/route_opening.py",
        "            markup=order.markup,\n",
        "",
        (
            "tests/service/test_exchange_terms.py::"
            "test_a_fallback_keeps_to_the_providers_and_the_markup_asked_for",
        ),
    ),
    Defect(
        "refusal-half-undone",
        "A create that its limit refuses leaves an order behind that nobody was told of.",
        "swapdesk/service/store/sqlite.py",
        "            if not ended and connection.total_changes != before:\n                break\n",
        "",
        ("tests/service/test_store.py::test_one_refusal_does_not_sink_its_neighbours",),
    ),
    Defect(
        "group-sunk-by-one",
        "One refused change makes the orders unavailable that were to be committed with it.",
        "swapdesk/service/store/postgres.py",
        "        if not all_done:\n            return None\n",
        "",
        (
            "tests/service/test_store.py::"
            "test_a_change_that_is_refused_does_not_sink_those_it_is_committed_with",
        ),
    ),
    Defect(
        "quote-used-twice",
        "A create that is repeated by a retry opens a second exchange on one quote.",
        "swapdesk/service/store/orders.py",
        "AND partner_id = :partner_id AND consumed_by IS NULL",
        "AND partner_id = :partner_id",
        ("tests/service/test_store.py::test_a_quote_becomes_one_order",),
    ),
    Defect(
        "sums-apart-from-their-order",
        "A crash leaves an order finished that no statistics and no commission ever count.",
        "swapdesk/service/store/orders.py",
        "            await announce(db, order.service_id)\n            if order.status ==",
        '            await db.run("COMMIT")\n            await db.run("BEGIN")\n'
        "            await announce(db, order.service_id)\n            if order.status ==",
        ("tests/service/test_partner_account.py::test_an_order_and_its_sums_are_written_together",),
    ),
    Defect(
        "settled-payment-serves-again",
        "A payment of a call that was settled pays for a second call.",
        "swapdesk/service/store/payments.py",
        "DELETE FROM payments WHERE payment = :payment AND transaction_hash IS NULL",
        "DELETE FROM payments WHERE payment = :payment",
        ("tests/service/test_paid_calls.py::test_a_payment_is_free_again_until_it_is_settled",),
    ),
    Defect(
        "bundle-taken-twice",
        "Two submissions of one bundle count, and each tells its signer that it was taken.",
        "swapdesk/service/store/groups.py",
        '" WHERE number = :number AND partner_id = :partner_id AND state = :expected"',
        "\" WHERE number = :number AND partner_id = :partner_id AND :expected <> ''\"",
        ("tests/service/test_store.py::test_each_bundle_is_claimed_once_over_several_connections",),
    ),
    Defect(
        "replay-with-another-body",
        "A create for another recipient is answered with the order of the first recipient.",
        "swapdesk/service/orders/creation.py",
        "        if order.request_digest not in digests:",
        "        if not order.request_digest:",
        ("tests/service/test_creation.py::test_a_used_quote_takes_no_other_body",),
    ),
    Defect(
        "order-of-another-partner",
        "Every partner may read the orders of all others by their id.",
        "swapdesk/service/store/orders.py",
        '"SELECT * FROM orders"\n'
        '            " WHERE partner_id = :partner_id AND service_id = :service_id AND told"',
        '"SELECT * FROM orders"\n            " WHERE service_id = :service_id AND told"',
        ("tests/service/test_store.py::test_an_order_is_read_by_its_partner_alone",),
    ),
    Defect(
        "payout-twice",
        "A commission that was paid out is paid again with the next payout of its month.",
        "swapdesk/service/store/books.py",
        "AND (booked <= :booked OR kind <> 'earned' OR service_id IN (",
        "AND kind <> 'payout' AND (booked <= :booked OR kind <> 'earned' OR service_id IN (",
        ("tests/service/test_partner_account.py::test_payouts_by_month",),
    ),
    Defect(
        "written-order-of-another-partner",
        "An order whose answer is kept is given to every partner who asks.",
        "swapdesk/service/store/orders.py",
        '"SELECT version, created FROM orders"\n'
        '            " WHERE partner_id = :partner_id AND service_id = :service_id AND told"',
        '"SELECT version, created FROM orders"\n'
        '            " WHERE service_id = :service_id AND told"',
        ("tests/service/test_orders_api.py::test_details_of_a_foreign_order_are_those_of_none",),
    ),
    Defect(
        "order-of-another-partner-followed",
        "A subscription tells every partner which ids are orders of others.",
        "swapdesk/service/store/orders.py",
        '" WHERE partner_id = :partner_id AND created >= :since AND told"\n)',
        '" WHERE created >= :since AND told"\n)',
        ("tests/service/test_store.py::test_of_many_ids_those_are_known_that_one_by_one_are_read",),
    ),
    Defect(
        "unpaid-order-told",
        "The deposit address of an order that nobody paid for costs no more than a read.",
        "swapdesk/service/store/orders.py",
        '"SELECT * FROM orders"\n'
        '            " WHERE partner_id = :partner_id AND service_id = :service_id AND told"',
        '"SELECT * FROM orders"\n'
        '            " WHERE partner_id = :partner_id AND service_id = :service_id"',
        (UNPAID,),
    ),
    Defect(
        "unpaid-order-listed",
        "The list tells every order of creates that nobody paid.",
        "swapdesk/service/store/orders.py",
        '"partner_id = :partner_id", "told", "created >= :since"',
        '"partner_id = :partner_id", "created >= :since"',
        (UNPAID,),
    ),
    Defect(
        "unpaid-order-told-by-its-opening",
        "An order is told as soon as its venue has opened, whether or not it is paid.",
        "swapdesk/service/store/orders.py",
        '"quote_id", "request_digest", "told"),',
        '"quote_id", "request_digest"),',
        (UNPAID,),
    ),
    Defect(
        "count-of-a-work-that-failed",
        "An account is refused calls that it never made, for others beside them failed.",
        "swapdesk/service/store/sqlite.py",
        "            transaction.tallies = tallies\n",
        "",
        (f"{LIMITS}::test_works_of_one_commit_count_exactly_whichever_of_them_fail",),
    ),
    Defect(
        "counts-that-are-never-written",
        "Nobody is limited any more.",
        "swapdesk/service/store/postgres.py",
        "                    await write_tallies(transaction)\n",
        "",
        (f"{LIMITS}::test_works_of_one_commit_count_exactly_whichever_of_them_fail",),
    ),
    Defect(
        "calls-given-back-and-lost",
        "Calls that were given back count for ever, and an account is refused what it has left.",
        "swapdesk/service/store/calls.py",
        "            await write_tallies(db)\n",
        "",
        (f"{LIMITS}::test_what_is_given_back_within_the_commit_of_others_is_free",),
    ),
    Defect(
        "step-that-moves-the-recipient",
        "A defect of the state machine sends a payout to somebody else.",
        "swapdesk/service/store/orders.py",
        '        *("receiver_address", "receiver_tag", ',
        "        *(",
        ("tests/service/test_store.py::test_no_step_changes_what_was_asked_for",),
    ),
    Defect(
        "deposit-address-as-recipient",
        "A payout goes to the deposit address of an order, whose venue keeps it.",
        "swapdesk/service/orders/creation.py",
        "        await self.check_given_out(request, token_in, token_out)\n",
        "",
        (NO_PLACE,),
    ),
    Defect(
        "deposit-address-in-another-spelling",
        "A payout goes to the deposit address of an order that is written in another way.",
        "swapdesk/service/orders/draft.py",
        'return f"{kind} {verdict.account if verdict.ok else address}"',
        'return f"{kind} {address}"',
        (NO_PLACE,),
    ),
    Defect(
        "relayer-cannot-pay",
        "A swap locks more on one chain than its relayer can pay out on the other.",
        "swapdesk/service/venues/onchain/meridian.py",
        "        return held is None or held < out\n",
        "        return held is None\n",
        (
            "tests/service/dex/test_dex_quotes.py::"
            "test_another_chain_is_reached_over_the_portal_alone",
        ),
    ),
    Defect(
        "relayer-paid-others-since",
        "A swap is locked on one chain after the relayer's tokens on the other went to others.",
        "swapdesk/service/venues/onchain/meridian.py",
        "        if await self._cannot_pay(deal.token_out, plan.out):\n",
        "        if plan.out < 0:\n",
        (
            "tests/service/dex/test_evm_venues.py::"
            "test_nothing_is_locked_that_the_relayer_cannot_pay_out_any_more",
        ),
    ),
    Defect(
        "payment-ends-while-the-venue-opens",
        "A create opens a venue that its payment cannot be settled for any more.",
        "swapdesk/service/payments.py",
        "if payment.valid_before < now + CARRYING_SECONDS.get(tier, 0) + SETTLING_SECONDS:",
        "if payment.valid_before < now + SETTLING_SECONDS:",
        (
            "tests/service/test_paid_calls.py::"
            "test_a_create_is_refused_whose_payment_could_end_while_a_venue_opens",
        ),
    ),
    Defect(
        "late-settlement-unheard",
        "A create whose payment is executed after its answer was withheld is paid for nothing.",
        "swapdesk/service/payments.py",
        "                await self._store.payments.settle(payment, settled.transaction)",
        "                await self._store.payments.free(payment)",
        (
            "tests/service/test_paid_calls.py::"
            "test_a_payment_that_settles_after_its_answer_was_withheld_tells_its_order",
        ),
    ),
    Defect(
        "private-route-names-its-venue",
        "A private order tells which exchange carries it.",
        "swapdesk/service/orders/presentation.py",
        "in_=row.legs[0] if assigned and not private else None,",
        "in_=row.legs[0] if assigned else None,",
        ("tests/service/test_creation.py::test_a_private_order_hides_its_venues_and_hops",),
    ),
    Defect(
        "expired-floating-quote-used",
        "The service opens an exchange on a quote that ended, at another rate.",
        "swapdesk/service/orders/draft.py",
        "    if quote.expires <= now:\n",
        "    if quote.expires <= now and quote.fixed:\n",
        ("tests/service/test_creation.py::test_quotes_that_cannot_be_used_are_refused_alike",),
    ),
    Defect(
        "read-key-writes",
        "A key that was given away for reading creates orders.",
        "swapdesk/service/access.py",
        'if writes and caller.key is not None and caller.key.scope == "read":',
        'if writes and caller.key is not None and caller.key.scope == "readonly":',
        ("tests/service/test_access.py::test_access",),
    ),
    Defect(
        "order-steps-back",
        "A venue that contradicts itself takes an order back; who reads it sends money again.",
        "swapdesk/service/orders/states.py",
        "        if changed.rank >= reached:\n",
        "        if changed.rank >= 0:\n",
        ("tests/service/test_states.py::test_no_order_of_reports_ever_leads_back",),
    ),
    Defect(
        "leased-order-taken",
        "Two workers carry one order out at the same time.",
        "swapdesk/service/store/orders.py",
        " WHERE lease_until <= :at AND due_at <= :now",
        " WHERE lease_until IS NOT NULL AND due_at <= :now",
        ("tests/service/test_store.py::test_due_orders_are_leased_to_one_owner",),
    ),
    Defect(
        "lease-of-the-dead-for-ever",
        "An order whose worker died is looked at by nobody any more.",
        "swapdesk/service/store/orders.py",
        " WHERE lease_until <= :at AND due_at <= :now",
        " WHERE lease_until <= 0 AND due_at <= :now",
        ("tests/service/test_store.py::test_due_orders_are_leased_to_one_owner",),
    ),
    Defect(
        "twin-answered-before-the-first",
        "A create that is repeated while the first is under way is answered without an address.",
        "swapdesk/service/orders/creation.py",
        "        while order.status < OrderStatusCode.WAITING:\n",
        "        while order.status < OrderStatusCode.INITIALIZING:\n",
        ("tests/service/test_creation.py::test_64_twins_get_one_order",),
    ),
    Defect(
        "time-of-an-event-unsigned",
        "An old event is sent again under a new time, for ever.",
        "swapdesk/wire/webhook_signature.py",
        'content = f"{webhook_id}.{timestamp}.".encode() + body',
        'content = f"{webhook_id}.{len(str(timestamp))}.".encode() + body',
        ("tests/service/test_webhooks.py::test_whatever_is_wrong_is_told_alike",),
    ),
    Defect(
        "event-read-and-signed-otherwise",
        "An event that was changed on its way counts as its source's.",
        "swapdesk/service/webhooks.py",
        "claimed.timestamp, body, claimed.signatures):",
        "claimed.timestamp, body.strip(), claimed.signatures):",
        ("tests/service/test_webhooks.py::test_whatever_is_wrong_is_told_alike",),
    ),
    Defect(
        "stuck-reader-kept",
        "Whoever reads nothing of the stream keeps its memory at the service for ever.",
        "swapdesk/service/events.py",
        "if waiting and self._clock.monotonic() - min(waiting) >= SLOW_READER_SECONDS:",
        "if waiting and self._clock.monotonic() - min(waiting) < 0:",
        (
            "tests/service/test_stream.py"
            "::test_a_reader_that_takes_a_little_again_and_again_is_behind_all_the_same",
        ),
    ),
    Defect(
        "deposit-in-time-expired",
        "An order expires although its deposit arrived in time.",
        "swapdesk/service/orders/states.py",
        "    if waits and not arrived and (asked or now) >= row.expires:",
        "    if waits and (asked or now) >= row.expires:",
        ("tests/service/test_lifecycle.py::test_a_deposit_seen_in_time_is_not_expired",),
    ),
    Defect(
        "key-for-any-page",
        "A page of any site uses an API key that it got hold of, from its visitor's browser.",
        "swapdesk/service/browsers.py",
        '    if _is_foreign(origin, sent.get("host", "")):',
        '    if stream and _is_foreign(origin, sent.get("host", "")):',
        ("tests/service/test_access.py::test_a_key_is_not_taken_from_a_page_of_another_site",),
    ),
    Defect(
        "public-id-uses-up-the-key",
        "Whoever reads the partner-id off a page uses up the calls of the partner's key.",
        "swapdesk/service/rate_limits.py",
        'return f"partner-id {partner_id}" if public else partner_id',
        "return partner_id",
        (
            "tests/service/test_rate_limits.py"
            "::test_a_partner_id_has_windows_of_its_own_of_half_the_size",
        ),
    ),
    Defect(
        "received-bounds-of-floating-rates",
        "An amount to receive that the limits promise is refused when it is asked for.",
        "swapdesk/service/quoting/engine.py",
        "        if limits is None or out is None:",
        "        if limits is not None:",
        (
            "tests/service/test_quote_terms.py"
            "::test_what_limits_promise_of_amounts_to_receive_quotes_do",
        ),
    ),
)

VENUES = (
    Defect(
        "silent-open-tried-elsewhere",
        "An exchange that is silent may have opened; another one is opened beside it.",
        "swapdesk/service/venues/registry.py",
        '            raise Ambiguous(f"no answer within {OPEN_SECONDS:g} s") from None\n',
        '            raise TimedOut(f"no answer within {OPEN_SECONDS:g} s") from None\n',
        (f"{GUARDS}::test_a_silent_venue_is_given_up",),
    ),
    Defect(
        "broken-open-tried-elsewhere",
        "An adapter that breaks may have opened; another exchange is opened beside it.",
        "swapdesk/service/venues/registry.py",
        '            raise Ambiguous(f"defect: {type(defect).__name__}") from defect\n',
        '            raise Transient(f"defect: {type(defect).__name__}") from defect\n',
        (f"{GUARDS}::test_a_failure_says_what_is_known",),
    ),
    Defect(
        "floating-price-of-a-fixed-rate",
        "Who asks for a fixed rate gets the floating price that somebody else asked for.",
        "swapdesk/service/venues/registry.py",
        "        key = (token_in.id, token_out.id, amount, terms)\n",
        "        key = (token_in.id, token_out.id, amount, FLOATING)\n",
        (f"{GUARDS}::test_equal_questions_share_one_call",),
    ),
    Defect(
        "one-who-leaves-ends-the-question",
        "A client that hangs up takes the price from all others who asked for the same.",
        "swapdesk/service/venues/registry.py",
        "            return await asyncio.shield(answer)\n",
        "            return await answer\n",
        (f"{GUARDS}::test_equal_questions_share_one_call",),
    ),
    Defect(
        "silent-venue-holds-its-askers",
        "One exchange that is silent keeps every quote from being answered.",
        "swapdesk/service/venues/registry.py",
        "            if left > 0:\n",
        "            if left > -60:\n",
        (f"{GUARDS}::test_a_silent_venue_is_given_up",),
    ),
    Defect(
        "requests-dropped-at-the-end",
        "A create that waits to be accepted when a process ends is reset, and nobody knows whether"
        " there is an order.",
        "swapdesk/sandbox/http_server.py",
        "        listener.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, attached)\n",
        "        listener.close()\n",
        (f"{BOUNDS}::test_a_request_that_waits_to_be_accepted_is_answered_at_the_end",),
    ),
    Defect(
        "kept-connections-kept-at-the-end",
        "A proxy sends creates on connections of a process that ends, and is told nothing of them.",
        "swapdesk/sandbox/http_server.py",
        "            self.cycle.keep_alive = False\n",
        "            pass\n",
        (f"{BOUNDS}::test_what_was_begun_is_finished_and_nothing_new_is_begun",),
    ),
    Defect(
        "kept-connections-closed-at-the-end",
        "A create that is under way on a kept connection when a process ends is reset.",
        "swapdesk/sandbox/http_server.py",
        "            if waited >= self._drain_seconds * IDLE_SHARE:\n",
        "            if waited >= 0:\n",
        (f"{BOUNDS}::test_what_was_begun_is_finished_and_nothing_new_is_begun",),
    ),
    Defect(
        "caller-named-by-anybody",
        "Whoever writes a header calls under the address of somebody else, and has no limit.",
        "swapdesk/service/front.py",
        "        return peer is not None and self._is_proxy(peer)\n",
        "        return peer is not None\n",
        (f"{FRONT}::test_limits_of_an_address_count_the_client",),
    ),
    Defect(
        "caller-read-from-the-left",
        "A caller behind a proxy makes up its address, and has no limit.",
        "swapdesk/service/front.py",
        "islice(reversed(hops), _MOST_PROXIES)",
        "islice(hops, _MOST_PROXIES)",
        (f"{FRONT}::test_what_proxies_tell",),
    ),
    Defect(
        "name-of-a-proxy-alone-checked",
        "A page whose name was made to point to a proxy reads what only a desk may.",
        "swapdesk/sandbox/service_process.py",
        "            if refused is None and forwarded is not None:\n",
        "            if forwarded is not None:\n",
        (f"{FRONT}::test_both_names_of_a_host_are_checked",),
    ),
    Defect(
        "failing-venue-asked-for-ever",
        "Every quote waits for an exchange that is out of order.",
        "swapdesk/service/venues/registry.py",
        "            self._breaker.failed()\n",
        "            self._breaker.succeeded()\n",
        (f"{GUARDS}::test_a_failing_venue_is_left_alone_and_asked_again",),
    ),
)

CHAINS = (
    Defect(
        "ledger-pays-what-is-not-there",
        "A chain of the sandbox moves money that its sender does not have.",
        "swapdesk/sandbox/node/ledger.py",
        "        if held < units:\n",
        "        if held <= 0:\n",
        ("tests/sandbox/test_node.py::test_nobody_pays_more_than_they_hold",),
    ),
    Defect(
        "deposit-of-another-token-credited",
        "A worthless token on the deposit address counts as the deposit.",
        "swapdesk/sandbox/node/settlement.py",
        '        if row is None or row["token_in"] != payment.token:',
        "        if row is None:",
        ("tests/sandbox/test_node.py::test_another_token_on_the_address_is_not_credited",),
    ),
    Defect(
        "failed-deposit-silently-kept",
        "An exchange fails and keeps a deposit, and nobody is told that somebody has to act.",
        "swapdesk/service/orders/states.py",
        "                or bool({first.status, paying.status} & given_up)\n",
        "",
        ("tests/sandbox/test_order_faults.py::test_an_order_ends_as_its_story_says",),
    ),
    Defect(
        "transaction-executed-twice",
        "The same signed bytes pay twice on the Solana chain of the sandbox.",
        "swapdesk/sandbox/node/solana/chain.py",
        "            return TransactionOutcome(REPEATED)\n",
        "            pass\n",
        (
            "tests/sandbox/solana/test_solana_chain.py::test_a_transfer_is_executed_kept_over_a_restart_and_never_repeated",
            "tests/sandbox/solana/test_solana_chain.py::test_the_same_message_under_another_signature_is_a_repeat",
        ),
    ),
    Defect(
        "replacement-for-the-same-fee",
        "Anybody's later transaction of a nonce takes the place of the first one for nothing.",
        "swapdesk/sandbox/node/evm/mempool.py",
        "            _require_bump(before, candidate)\n",
        "            pass\n",
        ("tests/sandbox/evm/test_evm_chain.py",),
    ),
)
