"""Defects of the sandbox around its chains: the exchanges' books, faults, the server."""

from __future__ import annotations

from .defect import Defect

NODE = "tests/sandbox/test_node.py::"
TERMS = "tests/sandbox/test_node.py::"
SERVE = "tests/sandbox/test_serve.py::"
CHAINS = "tests/sandbox/test_chain_books.py::"
SOLANA = "tests/sandbox/test_chain_books.py::"

BOOKS = (
    Defect(
        "cause-pays-again",
        "An exchange pays what it paid before: asked twice, it pays twice.",
        "swapdesk/sandbox/node/ledger.py",
        "            if (done.token, done.receiver, done.tag, done.units) != asked:\n",
        "            cause += '+'\n            if not units:\n",
        (f"{NODE}test_the_faucet_pays_a_key_once",),
    ),
    Defect(
        "cause-pays-somebody-else",
        "What one key paid is told to whoever asks for another payment under it.",
        "swapdesk/sandbox/node/ledger.py",
        "            if (done.token, done.receiver, done.tag, done.units) != asked:\n",
        "            if done.token != token.token_id:\n",
        (f"{NODE}test_the_faucet_pays_a_key_once",),
    ),
    Defect(
        "bounced-payment-lost",
        "A payment that moved nothing is gone from the exchange's books.",
        "swapdesk/sandbox/node/ledger.py",
        "            self._move(token, self.faucet(token.chain), payment.sender, payment.units)\n",
        "            pass\n",
        (f"{SOLANA}test_what_the_chain_does_not_execute_stays_with_the_exchange",),
    ),
    Defect(
        "signed-again-in-time",
        "A payment is signed anew while its bytes may still be executed: it is paid twice.",
        "swapdesk/sandbox/node/settlement.py",
        "payment.expires is None or payment.expires >= height",
        "payment.expires is None",
        (f"{SOLANA}test_a_payout_whose_end_the_node_did_not_live_to_see_is_made_once",),
    ),
    Defect(
        "bounced-payout-done",
        "A payout that its receiver refused counts as paid, and nobody is told.",
        "swapdesk/sandbox/node/settlement.py",
        "            if succeeded:\n",
        "            if included is not None:\n",
        (f"{CHAINS}test_a_payout_that_its_receiver_refuses_stays_with_the_exchange",),
    ),
    Defect(
        "refund-out-of-nowhere",
        "A refund on an embedded chain is paid by an address that signs nothing.",
        "swapdesk/sandbox/node/settlement.py",
        '        if row["chain"] in self._ledger.embedded:\n',
        '        if row["chain"] is None:\n',
        (f"{CHAINS}test_a_transfer_by_anybody_is_a_deposit_and_goes_back_as_one",),
    ),
    Defect(
        "deposit-without-its-hash",
        "The deposit of a second leg is told under another hash than the payout of the first.",
        "swapdesk/sandbox/node/ledger.py",
        "            hash=arrival.hash,\n",
        '            hash=f"{arrival.hash}#{arrival.position}",\n',
        (f"{CHAINS}test_what_one_exchange_pays_another_is_one_transfer",),
    ),
    Defect(
        "speed-of-the-first-start",
        "A node that died goes on at another speed, and orders miss their deadlines.",
        "swapdesk/sandbox/supervisor.py",
        "        speed = options.speed if self._first else None\n",
        "        speed = options.speed\n",
        (
            "tests/sandbox/test_kills.py::test_a_killed_sandbox_loses_nothing_and_pays_nothing_twice",
        ),
    ),
    Defect(
        "children-outlive-their-starter",
        "A sandbox that was killed goes on trading, and the next one finds its directory in use.",
        "swapdesk/sandbox/processes.py",
        "    if lifeline:\n",
        "    if lifeline and not hard:\n",
        (f"{SERVE}test_keys_and_orders_outlive_a_kill_and_other_options_are_refused",),
    ),
    Defect(
        "two-sandboxes-of-one-directory",
        "Two sandboxes write the books of one directory.",
        "swapdesk/sandbox/processes.py",
        "            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
        "            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)\n",
        (f"{SERVE}test_ready_line_run_file_and_end",),
    ),
    Defect(
        "executed-payment-unseen",
        "What was executed while the node was down is taken for expired, and signed anew.",
        "swapdesk/sandbox/node/settlement.py",
        "            included, succeeded = wallets.mined(payment.hash) or (None, False)\n",
        "            known = wallets.mined(payment.hash) if payment.expires is None else None\n"
        "            included, succeeded = known or (None, False)\n",
        (f"{SOLANA}test_a_payout_whose_end_the_node_did_not_live_to_see_is_made_once",),
    ),
    Defect(
        "blocks-read-again",
        "After a restart the books credit deposits that they have credited.",
        "swapdesk/sandbox/node/settlement.py",
        '                    self._database.put(f"read {name}", str(last))\n',
        "                    pass\n",
        (f"{CHAINS}test_what_was_paid_in_time_and_read_late_is_a_deposit",),
    ),
    Defect(
        "deposit-read-late",
        "What was paid in time is taken for late, because the node read it late.",
        "swapdesk/sandbox/node/settlement.py",
        "        at = Moment(min(here.now, arrival.seconds * 1000), here.world)\n",
        "        at = here\n",
        (f"{CHAINS}test_what_was_paid_in_time_and_read_late_is_a_deposit",),
    ),
    Defect(
        "expired-unread",
        "A leg expires though its deposit stands in a block that nobody has read.",
        "swapdesk/sandbox/node/evm/embedding.py",
        "        if any(chain_files(directory, name) for name in self.terms):\n",
        "        if ids is None:\n",
        (f"{CHAINS}test_no_leg_expires_before_its_chain_is_read",),
    ),
    Defect(
        "late-deposit-swapped",
        "A deposit after the deadline is swapped at the price of before.",
        "swapdesk/sandbox/node/settlement.py",
        'row["status"] == LegStatus.WAITING and row["expires"] <= at.now',
        'row["status"] == LegStatus.WAITING and row["expires"] <= 0',
        (f"{CHAINS}test_what_was_paid_after_the_deadline_is_late_whenever_it_is_read",),
    ),
    Defect(
        "deposit-counts-early",
        "An exchange swaps a deposit on an embedded chain a block too early.",
        "swapdesk/sandbox/node/ledger.py",
        "chains_by_name()[chain].confirmations + 1\n",
        "chains_by_name()[chain].confirmations + 2\n",
        (f"{CHAINS}test_a_deposit_counts_with_its_last_confirmation",),
    ),
    Defect(
        "second-deposit-unconfirmed",
        "A second deposit is swapped with the first one, before it has its confirmations.",
        "swapdesk/sandbox/node/venue_accounts.py",
        '        elif is_last and row["status"] == LegStatus.CONFIRMING:\n',
        '        elif row["status"] == LegStatus.CONFIRMING:\n',
        (f"{NODE}test_two_deposits_are_one_when_both_are_in_time",),
    ),
    Defect(
        "memo-of-nobody",
        "A payment with a wrong memo is credited to whoever has the address.",
        "swapdesk/sandbox/node/database.py",
        "        if found is None and tag is not None:\n",
        "        if found is None:\n"
        '            query = "SELECT * FROM accounts WHERE chain = ? AND address = ?"\n'
        "            return self._one(query, chain, address)\n"
        "        if tag is None:\n",
        (f"{NODE}test_xrp_without_the_right_tag_is_nobodys",),
    ),
    Defect(
        "excess-returned-twice",
        "What was too much goes back with the excess, and again with the refund.",
        "swapdesk/sandbox/node/settlement.py",
        "        if self._ledger.paid(f\"excess:{row['id']}\") is None:\n",
        "        if arrived:\n",
        (f"{TERMS}test_an_excess_that_went_back_does_not_go_back_again",),
    ),
    Defect(
        "late-deposit-kept",
        "A late deposit is kept though the exchange knows where it belongs.",
        "swapdesk/sandbox/node/settlement.py",
        '        if row["refund_address"] is not None:\n            units, cause',
        '        if row["refund_tag"] is not None:\n            units, cause',
        (f"{NODE}test_what_becomes_of_a_deposit",),
    ),
    Defect(
        "held-deposit-unsaid",
        "An exchange keeps a second deposit, and nobody is told that somebody has to act.",
        "swapdesk/sandbox/node/venue_accounts.py",
        "                each.late and each.counted and",
        "                each.late and not each.counted and",
        (f"{NODE}test_what_becomes_of_a_deposit",),
    ),
    Defect(
        "world-of-other-tables",
        "A sandbox goes on with orders of coins that have other decimals now.",
        "swapdesk/sandbox/node/ledger.py",
        "{token.row.chain} {token.row.decimals} {token.tradable}",
        "{token.row.chain} {token.tradable}",
        (f"{TERMS}test_the_tables_of_a_world_decide_who_gets_how_much",),
    ),
    Defect(
        "put-aside-without-the-key",
        "After an update the key of a desk or a program is unknown to its sandbox.",
        "swapdesk/sandbox/processes.py",
        "        shutil.copy2(directory / KEY_FILE, fresh / KEY_FILE, follow_symlinks=False)\n",
        "        pass\n",
        (f"{SERVE}test_the_world_of_an_earlier_release_is_put_aside_and_its_keys_go_on",),
    ),
    Defect(
        "put-aside-over-another",
        "What was put aside before gives way to what is put aside now.",
        "swapdesk/sandbox/processes.py",
        "            continue\n        break\n",
        "            pass\n        break\n",
        (f"{SERVE}test_the_world_of_an_earlier_release_is_put_aside_and_its_keys_go_on",),
    ),
    Defect(
        "chains-of-another-release",
        "A sandbox whose chains another release wrote does not start any more.",
        "swapdesk/sandbox/node/__main__.py",
        "    except (OtherWorld, ChainFileMismatch) as old:\n",
        "    except OtherWorld as old:\n",
        (f"{SERVE}test_the_world_of_an_earlier_release_is_put_aside_and_its_keys_go_on",),
    ),
    Defect(
        "other-chain-ids-put-aside",
        "A wrong option puts a world with orders aside.",
        "swapdesk/sandbox/node/node.py",
        '            raise OtherTerms(f"{name} {stored}")\n',
        "            pass\n",
        (f"{TERMS}test_other_chain_ids_than_those_of_the_world_are_refused",),
    ),
)
BOUNDS = "tests/sandbox/test_http_bounds.py"
PORTS = "tests/sandbox/test_service_port.py"


GATE_RULE = "tests/agent/test_gate_rules.py::test_a_rule_objects_on_one_side_of_its_bound_alone"
A_LIE = "tests/flows/dex/test_dishonest_service.py::test_a_lie_obtains_no_signature"

DISHONEST: tuple[Defect, ...] = (
    Defect(
        "signed-for-another-chain",
        "A service has a document signed that moves the same tokens on another chain.",
        "swapdesk/agent/gate/rules/envelope.py",
        "    elif claim.chain_id is not None and claim.chain_id != promised:\n",
        "    elif claim.chain_id is not None and claim.chain_id < 0:\n",
        (GATE_RULE,),
    ),
    Defect(
        "sent-on-another-chain",
        "An order that asks for a transaction on another chain has it signed on this one.",
        "swapdesk/flows/dex/dex_plan.py",
        "(number is not None and number == promise.chain_id)",
        "number is not None",
        (A_LIE,),
    ),
    Defect(
        "transaction-of-another-kind",
        "An order that hands the account over to a stranger's code is signed as a plain swap.",
        "swapdesk/flows/dex/dex_plan.py",
        "        if told.get(name):\n",
        '        if told.get(name) == "":\n',
        (A_LIE,),
    ),
    Defect(
        "field-beside-the-document",
        "A document says more than what is signed of it, and is shown as if that counted.",
        "swapdesk/agent/typed_data.py",
        "        if set(raw) - names:\n",
        "        if names - names:\n",
        (A_LIE, "tests/agent/test_typed_data.py"),
    ),
    Defect(
        "half-of-another-chain",
        "A transaction that is said to be for an EVM chain is signed on Solana.",
        "swapdesk/flows/dex/dex_swap.py",
        '    if told.get("chainId") is not None:\n',
        '    if told.get("chainId") == "":\n',
        ("tests/flows/dex/test_dex_solana.py::test_a_lie_obtains_no_signature",),
    ),
    Defect(
        "first-step-signed-anew",
        "A swap that is taken on signs a second permit, for whatever the service says by now.",
        "swapdesk/flows/dex/dex_permission.py",
        "            if before.digest != digest:\n",
        "            if not before.digest:\n",
        (
            "tests/flows/dex/test_dishonest_service.py"
            "::test_an_earlier_step_that_changed_is_signed_no_second_time",
        ),
    ),
    Defect(
        "old-blockhash",
        "A transaction is signed that nobody can execute, or that is good again later.",
        "swapdesk/agent/gate/rules/envelope.py",
        "    elif left < LEAST_BLOCKS:\n",
        "    elif left < 0:\n",
        ("tests/agent/test_gate_rules.py::test_a_rule_objects_on_one_side_of_its_bound_alone",),
    ),
    Defect(
        "bundle-to-another-address",
        "A bundle pays a stranger what an order of the group waits for.",
        "swapdesk/agent/gate/rules/bundle.py",
        "        elif field is not None and field.value != deposit.address:\n",
        "        elif field is not None and not field.value:\n",
        ("tests/agent/test_gate_bundle.py::test_what_a_rule_objects_to",),
    ),
    Defect(
        "permit-over-another-document",
        "A create is accepted with a signature over another document, and its payment fails.",
        "swapdesk/service/venues/onchain/pool_venue.py",
        "        if permit is None:\n            raise DexRefused",
        "        if permit is NO_SIGNATURE:\n            raise DexRefused",
        ("tests/service/dex/test_evm_venues.py",),
    ),
)

FAULTS: tuple[Defect, ...] = (
    Defect(
        "practice-on-a-live-profile",
        "Practice cases create orders at a service with real money.",
        "swapdesk/flows/faults/triggers.py",
        "        if desk.settings.live or control is None:\n",
        "        if control is None:\n",
        ("tests/tui/test_faults.py::test_live_desk_has_no_page_of_faults",),
    ),
    Defect(
        "hold-that-nobody-ends",
        "What an exchange holds stays there for ever, though its hold was released.",
        "swapdesk/sandbox/node/venue_accounts.py",
        "        for row in begun:\n            self._go_on(row)\n",
        "        for row in begun[:0]:\n            self._go_on(row)\n",
        ("tests/sandbox/test_node.py::test_a_hold_lasts_until_it_is_released",),
    ),
    Defect(
        "held-deposit-unsaid-by-its-exchange",
        "A deposit after the deadline is held, and the order says that nobody has to act.",
        "swapdesk/sandbox/exchange.py",
        '        held=bool(answer["held"]),\n',
        "        held=False,\n",
        ("tests/sandbox/test_venues.py::test_a_deposit_after_the_deadline_is_told_to_be_held",),
    ),
    Defect(
        "rotated-payout-by-the-first-wallet",
        "Payouts that were to come from many wallets all come from one.",
        "swapdesk/sandbox/exchange.py",
        '            "payoutWallet": leg.payout_wallet,\n',
        '            "payoutWallet": None,\n',
        (
            "tests/sandbox/test_venues.py::"
            "test_an_opened_promise_is_found_by_its_key_after_it_ended",
        ),
    ),
    Defect(
        "fallback-by-the-same-wallet",
        "A payout that failed is paid again by the wallet that cannot pay.",
        "swapdesk/sandbox/node/venue_accounts.py",
        "        return 1 if FALLBACK in faults_of(row) else 0\n",
        "        return 0 if FALLBACK in faults_of(row) else 0\n",
        ("tests/sandbox/test_node.py::test_a_fallback_is_paid_from_another_wallet",),
    ),
    Defect(
        "fault-on-the-other-leg",
        "A fault of the second leg of a private order meets its first one.",
        "swapdesk/sandbox/node/venue_accounts.py",
        "self._leg(fault.service_id, fault.leg)\n",
        "self._leg(fault.service_id, None)\n",
        ("tests/sandbox/test_order_faults.py::test_an_order_ends_as_its_story_says",),
    ),
    Defect(
        "control-body-without-end",
        "The control reads a body of any length.",
        "swapdesk/sandbox/control.py",
        "        if len(received) > BODY_LIMIT:\n",
        "        if len(received) < 0:\n",
        ("tests/sandbox/test_control.py::test_what_cannot_be_paid",),
    ),
    Defect(
        "number-of-one-that-waits",
        "An account of the sandbox sends under the number of a transaction that still waits.",
        "swapdesk/sandbox/node/evm/node.py",
        "        return self._chain.pool.next_nonce(self.address, used)\n",
        "        return used\n",
        (
            "tests/sandbox/evm_world/test_keeper.py"
            "::test_a_new_chain_waits_for_no_beat_and_nobody_for_a_block_that_is_far_ahead",
        ),
    ),
    Defect(
        "deposit-paid-twice-on-purpose",
        "The faucet pays a deposit again whenever its answer was lost and it is asked again.",
        "swapdesk/sandbox/control.py",
        "if as_asked else str(uuid.uuid4())",
        "if not as_asked else str(uuid.uuid4())",
        ("tests/sandbox/test_control.py::test_an_order_completes",),
    ),
    Defect(
        "fault-that-never-ends",
        "A fault that was set once spoils every order that is opened after it.",
        "swapdesk/sandbox/faults.py",
        "            if fault.times <= 0:\n",
        "            if fault.times < 0:\n",
        ("tests/sandbox/test_node.py::test_a_fault_of_a_venue_meets_the_next_legs_there",),
    ),
    Defect(
        "fault-of-another-order",
        "A fault that was set on one order spoils the next one, whosever it is.",
        "swapdesk/sandbox/faults.py",
        "(not fault.selector or (fault.selector, fault.value) in about)",
        "(not fault.selector or fault.selector in dict(about))",
        ("tests/sandbox/test_service_faults.py::test_a_fault_of_one_order_quote_or_group",),
    ),
    Defect(
        "lost-before-it-was-done",
        "The answer that is lost on purpose is lost with the order, so nothing is practised.",
        "swapdesk/sandbox/fault_layer.py",
        "    await request.carry_out(_nowhere)\n    request.cut()\n",
        "    request.cut()\n",
        (
            "tests/sandbox/test_service_faults.py::test_lost_response_is_carried_out_and_never_answered",
        ),
    ),
)

SERVER = (
    Defect(
        "head-that-never-ends",
        "One request whose head has no end fills the memory of the service.",
        "swapdesk/sandbox/http_server.py",
        "        if self._room < 0 and not self.transport.is_closing():\n",
        "        if self._room < -(1 << 30) and not self.transport.is_closing():\n",
        (f"{PORTS}::test_what_cannot_be_read_is_refused_with_the_error_body_on_every_port",),
    ),
    Defect(
        "fields-of-any-size",
        "Fields after a body are read without end, and reach the application as headers.",
        "swapdesk/sandbox/http_server.py",
        "        if self._fields < 0:\n",
        "        if self._fields < 0 and self.cycle is None:\n",
        (f"{PORTS}::test_what_cannot_be_read_is_refused_with_the_error_body_on_every_port",),
    ),
    Defect(
        "half-sent-request-awaited",
        "A few hundred half-sent requests hold every connection of a port, and nobody else trades.",
        "swapdesk/sandbox/http_server.py",
        "        elif now >= self._due and self._fed:\n",
        "        elif now >= self._due + 60 and self._fed:\n",
        (f"{BOUNDS}::test_a_request_that_does_not_come_to_its_end_is_not_waited_for",),
    ),
    Defect(
        "one-peer-takes-all",
        "One address takes all connections of a port, and nobody else trades.",
        "swapdesk/sandbox/http_server.py",
        "sum(_peer(each.client) == peer for each in those) > of_a_peer\n",
        "len(those) > most + of_a_peer + len(peer)\n",
        (f"{BOUNDS}::test_what_is_one_too_many_is_refused",),
    ),
    Defect(
        "refusal-read-as-another-answer",
        "A malformed request behind a create is answered first, as if the create were refused.",
        "swapdesk/sandbox/http_server.py",
        "            if cycle.response_started or self.pipeline or not cycle.more_body:\n",
        "            if cycle.response_started:\n",
        (f"{BOUNDS}::test_a_malformed_request_behind_another_one_is_no_answer_to_that",),
    ),
    Defect(
        "unread-answer-kept",
        "Clients that read no answer hold its bytes and their connections for ever.",
        "swapdesk/sandbox/http_server.py",
        "        seen = -1 if ending else waiting\n",
        "        seen = -1 if ending else 0\n",
        (f"{BOUNDS}::test_an_answer_that_nobody_reads_is_given_up",),
    ),
    Defect(
        "answered-early-kept",
        "A connection whose request was refused before its end is kept for ever.",
        "swapdesk/sandbox/http_server.py",
        "            self._due, self._fed = self._in(self.timeout_keep_alive), False\n",
        "            self._fed = False\n",
        (f"{BOUNDS}::test_a_connection_is_kept_no_longer_where_the_answer_came_before_the_body",),
    ),
    Defect(
        "control-for-any-token",
        "Any program of the machine moves the sandbox's money over its control.",
        "swapdesk/sandbox/http_server.py",
        "    if not hmac.compare_digest(given, token.encode()):\n",
        "    if not given:\n",
        (
            "tests/sandbox/test_node_process.py::"
            "test_strangers_and_bad_calls_are_refused_and_it_ends_with_its_starter",
        ),
    ),
    Defect(
        "control-for-another-site",
        "A page of any site reaches the node and the control of whoever visits it.",
        "swapdesk/sandbox/http_server.py",
        "    if origin is not None and not _served(origin, hosts):\n",
        "    if origin is not None and not origin:\n",
        (
            "tests/sandbox/test_node_process.py::"
            "test_strangers_and_bad_calls_are_refused_and_it_ends_with_its_starter",
        ),
    ),
)
