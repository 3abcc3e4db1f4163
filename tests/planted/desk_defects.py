"""Defects of the desk: creating orders, showing them, and paying them once."""

from __future__ import annotations

from .defect import Defect

CREATING = (
    Defect(
        "balance-of-before-the-faucet",
        "A wallet that was filled is said to have too little for as long as the line stands.",
        "swapdesk/flows/wallet/own_accounts.py",
        "if any(balance.units for balance in answer.balances) or not wallet.awaits(*place):",
        "if any(balance.units for balance in answer.balances) or answer.balances:",
        ("tests/flows/test_local_wallet.py::test_a_balance_waits_for_what_the_faucet_sends",),
    ),
    Defect(
        "balance-of-before-the-wallet",
        "A line that one comes back to says what was known before the wallet was filled.",
        "swapdesk/tui/page.py",
        "            self.session.moves += 1\n            self._moves += 1\n",
        "            self._moves = self.session.moves\n",
        ("tests/tui/test_wallets.py::test_an_allowance_is_ended_by_keys",),
    ),
    Defect(
        "balance-of-the-forms-opening",
        "What is locked is held against a balance that was read when the form was opened.",
        "swapdesk/tui/screens/create.py",
        "        if not state.row.on_chain:\n            # The balance is",
        "        if state.row.on_chain is None:\n            # The balance is",
        ("tests/tui/test_create.py::test_own_accounts_are_named_on_routes_of_exchanges_too",),
    ),
    Defect(
        "create-posted-again",
        "A create whose answer was lost becomes two orders, and both may be paid.",
        "swapdesk/flows/creation/exchange.py",
        "            return await self._look_for(intent, sent_at, known, error, on_waiting)\n"
        "        except ApiError as error:",
        "            log.warning('no answer: %s', error)\n"
        "            receipt = await self._post(body, intent.valid_until - LAST_MOMENT)\n"
        "        except ApiError as error:",
        ("tests/flows/test_exchange.py::test_a_lost_answer_is_looked_up_and_never_posted_again",),
    ),
    Defect(
        "write-retried",
        "Every write that failed is sent a second time, so that an order is created twice.",
        "swapdesk/client/transport.py",
        "return stated if isinstance(error, RateLimited) and attempt == 1 else None",
        "return stated or 0.0 if attempt == 1 else None",
        (
            "tests/client/test_transport.py"
            "::test_a_lost_answer_is_asked_for_again_when_reading_and_never_when_writing",
        ),
    ),
    Defect(
        "gateway-error-taken-for-refusal",
        "An order that exists is told as not created, and the trader creates another one.",
        "swapdesk/client/transport.py",
        "unsure = isinstance(error, AnswerRefused | ServiceFailed)",
        "unsure = isinstance(error, AnswerRefused)",
        ("tests/flows/test_exchange.py::test_a_gateway_error_after_the_create_is_looked_up",),
    ),
    Defect(
        "batch-agreed-to-unseen",
        "A person says yes to a batch whose rows went into a file.",
        "swapdesk/cli/batch_report.py",
        "tell_plan(call, plan, output.before_a_question)",
        "tell_plan(call, plan)",
        ("tests/cli/test_review.py::test_a_batch_is_shown_where_it_is_asked_about",),
    ),
    Defect(
        "signed-unasked-in-a-pipe",
        "A script that forgot --yes signs what nobody has read.",
        "swapdesk/cli/cli_context.py",
        'if signs and not (options["yes"] or call.interactive):',
        'if signs and not (options["yes"] or True):',
        ("tests/cli/test_wallet_commands.py::test_nothing_is_signed_without_a_yes",),
    ),
    Defect(
        "written-by-a-desk-that-only-reads",
        "A desk that only reads creates, signs and spends.",
        "swapdesk/cli/cli_context.py",
        "if not declared.reading:",
        "if not declared.effect:",
        ("tests/cli/test_contract.py::test_a_writing_command_ends_before_it_does_anything",),
    ),
    Defect(
        "route-type-unheard",
        "A swap that was to be private goes over one exchange, which sees both ends.",
        "swapdesk/cli/create_commands.py",
        "route = read_route(options, types)",
        "route = read_route(options)",
        ("tests/cli/test_pipe.py::test_orders_are_listed_and_shown",),
    ),
    Defect(
        "another-allowance-ended",
        "The allowance that was to end stays, and another one ends in its place.",
        "swapdesk/cli/wallet_chains.py",
        "return kept and token.lower() in tokens and spender.lower() in spenders",
        "return kept and token.lower() in tokens",
        (
            "tests/cli/test_wallet_commands.py"
            "::test_the_sandbox_has_a_wallet_with_money_and_no_question",
        ),
    ),
    Defect(
        "least-output-unheard",
        "Less arrives than the command names with --min-out.",
        "swapdesk/cli/quotes.py",
        "if request.min_out is not None:",
        "if request.min_out is not None and request.fund:",
        ("tests/cli/test_refusals.py::test_bad_input_is_refused_and_creates_nothing",),
    ),
    Defect(
        "memo-written-otherwise",
        "A memo loses a character that the terminal lacks, and the deposit by it is nobody's.",
        "swapdesk/cli/output.py",
        "errors = _ESCAPE if isinstance(text, Exact) else _SIGNS",
        "errors = _SIGNS",
        ("tests/cli/test_output.py::test_numbers_and_sentences_are_read_in_ascii",),
    ),
    Defect(
        "paid-deposit-printed-without-its-memo",
        "A script looks for a payment on its way by another memo than it was sent with.",
        "swapdesk/flows/orders/deposit_destination.py",
        '"memo": "memo", "chain": "chain"',
        '"memo": "chain", "chain": "chain"',
        ("tests/flows/test_order_choice.py::test_what_this_desk_paid_is_not_asked_for_again",),
    ),
    Defect(
        "allowance-printed-rounded",
        "A program that ends allowances reads another amount than the chain has.",
        "swapdesk/wallet/answers.py",
        "        return str(self.units)\n\n    @property\n    def ends_text",
        "        return str(float(self.units))\n\n    @property\n    def ends_text",
        (
            "tests/cli/test_wallet_commands.py"
            "::test_the_sandbox_has_a_wallet_with_money_and_no_question",
        ),
    ),
    Defect(
        "simulated-amount-printed-as-a-number",
        "A program that judges a dry run rounds what the swap would take out of the wallet.",
        "swapdesk/wallet/answers.py",
        '"contract": "contract", "units": "written_units"',
        '"contract": "contract", "units": "units"',
        (
            "tests/cli/test_contract.py::test_nothing_that_was_printed_is_gone_without_a_new_version",
        ),
    ),
    Defect(
        "verdict-left-out-of-the-review",
        "A program that signs after a dry run does not hear that the gate refuses it.",
        "swapdesk/wallet/answers.py",
        '"refused": "refused", ',
        "",
        (
            "tests/cli/test_contract.py::test_nothing_that_was_printed_is_gone_without_a_new_version",
        ),
    ),
    Defect(
        "page-taken-for-an-answer",
        "A raw create that a portal answered ends as done, though nobody knows whether it was.",
        "swapdesk/cli/service_reports.py",
        "        answer = await _asked(call, method, path, query, body)\n"
        "    except ClientError as error:",
        "        answer = await call.link.api.call(method, path, query, body)\n"
        "    except ClientError as error:",
        ("tests/cli/test_refusals.py::test_an_unknown_outcome_is_in_the_journal",),
    ),
    Defect(
        "sent-create-taken-for-unsent",
        "After a crash an order that was created is forgotten, and is created again.",
        "swapdesk/flows/creation/resume.py",
        "create.state is State.PREPARED or create.sent_at is None",
        "create.state in (State.PREPARED, State.SENT) or create.sent_at is None",
        (
            "tests/flows/test_exchange.py"
            "::test_a_look_that_was_broken_off_proves_nothing_and_is_repeated",
        ),
    ),
    Defect(
        "unknown-twin-allowed",
        "The same payment is created again while nobody knows whether the first one exists.",
        "swapdesk/flows/creation/creates.py",
        '    claim = f"twin:{intent.fingerprint}"',
        '    claim = f"twin:{intent.id}"',
        ("tests/flows/test_journal.py::test_a_payment_of_unknown_outcome_blocks_its_twin_only",),
    ),
    Defect(
        "late-answer-wins",
        "An order that is known becomes refused, or a paid deposit is freed and paid once more.",
        "swapdesk/flows/journal/ledger.py",
        "WHERE {where} AND state IN ({marks})",
        "WHERE {where} AND (state IN ({marks}) OR 1)",
        ("tests/flows/test_ledger.py::test_what_was_decided_first_stands",),
    ),
    Defect(
        "late-order-payable",
        "An order that is answered after its swap was refused may be paid.",
        "swapdesk/flows/creation/creates.py",
        "verdict=verdict if makers else FOREIGN",
        "verdict=verdict",
        (
            "tests/flows/test_exchange.py"
            "::test_an_order_that_comes_after_the_refusal_is_kept_and_never_payable",
        ),
    ),
    Defect(
        "order-of-two-intents",
        "Two payments are settled by one order, and one of them is never created.",
        "swapdesk/flows/creation/creates.py",
        "        if any(maker.id != intent_id for maker in makers):",
        "        if len(makers) > 1:",
        ("tests/flows/test_journal.py::test_an_order_belongs_to_one_intent",),
    ),
    Defect(
        "approval-outlives-its-swap",
        "An approval of a swap that is over stands as if it could still be signed.",
        "swapdesk/flows/creation/creates.py",
        "        if parts:",
        "        if not parts:",
        (
            "tests/flows/test_ledger.py"
            "::test_what_stands_open_of_a_swap_is_over_with_it_before_its_create_left",
        ),
    ),
    Defect(
        "swap-that-is-over-taken-on",
        "A swap whose transaction was refused is signed at the next start.",
        "swapdesk/flows/creation/creates.py",
        "    AND last.state IS NOT 'refused' AND (last.kind",
        "    AND (last.kind",
        ("tests/flows/dex/test_dex_swap.py::test_who_says_no_has_paid_nothing",),
    ),
    Defect(
        "order-of-a-late-refusal-untold",
        "An order that another run found is told as not created, and is created once more.",
        "swapdesk/flows/creation/exchange.py",
        "            outcome = NotCreated(failure, code, error)\n"
        "            return outcome if moved else await self._decided(intent) or outcome",
        "            outcome = NotCreated(failure, code, error)\n"
        "            return outcome if moved else outcome",
        (
            "tests/flows/test_exchange.py"
            "::test_a_refusal_that_comes_after_the_order_is_known_loses_nothing",
        ),
    ),
    Defect(
        "payment-after-refusal-unnoted",
        "A deposit that was refused and paid all the same may be paid again.",
        "swapdesk/flows/payments.py",
        "        if not moved and act.subject and payment_of(ledger, act.subject) is None:",
        "        if moved and act.subject and payment_of(ledger, act.subject) is None:",
        ("tests/flows/test_ledger.py::test_what_was_decided_first_stands",),
    ),
    Defect(
        "late-refusal-tells-unpaid",
        "A deposit that arrived is told as not sent, and the trader pays it by hand.",
        "swapdesk/flows/deposits/funding.py",
        "            if error.definite and not moved:",
        "            if error.definite and moved is None:",
        (
            "tests/flows/test_deposits.py"
            "::test_a_refusal_that_comes_after_the_deposit_arrived_frees_nothing",
        ),
    ),
    Defect(
        "swap-over-is-paid",
        "The order of a swap that is over is signed and paid.",
        "swapdesk/flows/dex/dex_swap.py",
        "if outcome.verdict.standing is DepositRelease.FOREIGN:",
        "if outcome.verdict is None:",
        ("tests/flows/dex/test_dex_swap.py::test_an_order_of_a_swap_that_is_over_is_not_paid",),
    ),
    Defect(
        "approval-signed-anew",
        "What was approved before a kill is approved once more, while the first may be executed.",
        "swapdesk/flows/dex/dex_swap.py",
        "            if not signed.final:",
        "            if signed.final:",
        ("tests/flows/dex/test_dex_kill.py",),
    ),
    Defect(
        "prepared-part-stays-open",
        "What a killed run prepared stands open for good beside what took its place.",
        "swapdesk/flows/dex/dex_swap.py",
        "        replace_prepared(ledger, intent_id)\n",
        "",
        (
            "tests/flows/dex/test_dex_kill.py"
            "::test_a_killed_swap_on_solana_is_taken_on_and_paid_once",
        ),
    ),
    Defect(
        "gone-wallet-ends-a-swap",
        "A swap is called over because its wallet stopped, with the payment signed.",
        "swapdesk/flows/dex/dex_swap.py",
        "        if isinstance(error, Refused) and error.code not in AGAIN_LATER:",
        "        if getattr(error, 'code', None) not in AGAIN_LATER:",
        (
            "tests/flows/dex/test_dex_kill.py"
            "::test_what_dies_beside_the_desk_comes_back_and_the_swap_is_paid_once",
        ),
    ),
    Defect(
        "older-order-adopted",
        "An order of another payment is taken for the one that was lost.",
        "swapdesk/flows/creation/order_verification.py",
        "for order in listed if order.service_id not in known\n",
        "for order in listed\n",
        ("tests/flows/test_exchange.py::test_an_order_that_was_there_before_is_never_adopted",),
    ),
    Defect(
        "expired-quote-created",
        "An order is created on a quote that ended, at whatever rate holds then.",
        "swapdesk/flows/creation/exchange.py",
        "if intent.valid_until - self._clock.now() <= LAST_MOMENT:",
        "if intent.valid_until - intent.frozen_at <= LAST_MOMENT:",
        (
            "tests/flows/test_exchange.py"
            "::test_nothing_is_sent_of_an_expired_quote_or_without_a_journal",
        ),
    ),
    Defect(
        "rate-without-end-created",
        "An order is created at a rate that nobody promised to keep, and pays less than shown.",
        "swapdesk/flows/quotes/quoting.py",
        "return asked_at if quote.fixed else asked_at + VALIDITY",
        "return asked_at + VALIDITY",
        (
            "tests/flows/test_ranking.py"
            "::test_a_rate_that_nobody_says_how_long_it_is_kept_is_not_executed",
        ),
    ),
    Defect(
        "no-bound-taken-for-a-bound",
        "A service that states no largest amount has every amount refused, or believed to fit.",
        "swapdesk/wire/encoding/numbers.py",
        "return amount if 0 < amount < NO_BOUND else None",
        "return amount",
        ("tests/wire/test_vendor_names.py::test_a_recorded_answer_is_read",),
    ),
    Defect(
        "end-in-milliseconds-never-reached",
        "A quote whose end is told in milliseconds is taken for valid for ever.",
        "swapdesk/wire/encoding/timestamps.py",
        "timedelta(milliseconds=int(millis))",
        "timedelta(seconds=min(int(millis), 10**10))",
        ("tests/wire/test_vendor_names.py::test_a_recorded_answer_is_read",),
    ),
    Defect(
        "answer-about-another-id",
        "The deposit address of another order is shown for the one that was asked for.",
        "swapdesk/client/api.py",
        "        if _of_another(result, path):",
        "        if operation.writes and _of_another(result, path):",
        ("tests/client/test_api.py::test_an_answer_about_another_id_is_of_no_use",),
    ),
)

CONFIRMED = (
    Defect(
        "swapped-deposit-address",
        "A deposit address that changed between two answers is shown and paid.",
        "swapdesk/flows/creation/order_verification.py",
        "        (address in (None, read.deposit_address), ",
        "        (address is None or read.deposit_address is not None, ",
        ("tests/flows/test_order_check.py::test_the_repeated_order_must_repeat_what_is_paid",),
    ),
    Defect(
        "recipient-of-order-unchecked",
        "An order that pays somebody else is released for payment.",
        "swapdesk/flows/creation/order_verification.py",
        "same_address(bought.kind, order.receiver_address, intent.recipient)",
        "same_address(bought.kind, order.receiver_address, order.receiver_address)",
        ("tests/flows/test_order_check.py::test_a_hard_difference_hides_the_address",),
    ),
    Defect(
        "middle-refund-unchecked",
        "A private swap that fails between its legs returns the money to somebody else.",
        "swapdesk/flows/creation/order_verification.py",
        "order.intermediate_refund_address in (None, intent.intermediate_refund),",
        "order.intermediate_refund_address in (None, order.intermediate_refund_address),",
        ("tests/flows/test_order_check.py::test_a_hard_difference_hides_the_address",),
    ),
    Defect(
        "foreign-order-released",
        "The deposit address of an order that nobody confirmed here is shown as one's own.",
        "swapdesk/flows/intents/intent.py",
        "DepositRelease.FOREIGN: frozenset(\n"
        "        {DepositRelease.UNREPEATED, DepositRelease.DIFFERS, DepositRelease.CONTRADICTS}\n",
        "DepositRelease.FOREIGN: frozenset(\n        {*DepositRelease}\n",
        ("tests/flows/test_journal.py::test_a_create_takes_a_sighting_over_and_alone_releases_it",),
    ),
    Defect(
        "older-state-told-last",
        "A receiver of webhooks is told last that a completed swap is on its way.",
        "swapdesk/flows/journal/order_log.py",
        "tells = merged is not None or reason is not None",
        "tells = True",
        (
            "tests/flows/test_journal.py::test_a_desk_that_is_behind_adds_no_state_after_a_newer_one",
        ),
    ),
    Defect(
        "hidden-order-released",
        "An order that was found to differ is released by a later look.",
        "swapdesk/flows/journal/order_log.py",
        "        if verdict.standing not in MAY_FOLLOW[stands.standing]:\n"
        "            return stands\n",
        "",
        ("tests/flows/test_journal.py::test_a_create_takes_a_sighting_over_and_alone_releases_it",),
    ),
    Defect(
        "unknown-status-taken-for-waiting",
        "An order in a state that nobody knows is shown as waiting for money.",
        "swapdesk/flows/orders/order_merge.py",
        "return _BY_STATUS.get(status)",
        "return _BY_STATUS.get(status, DisplayStatus.WAITING_FOR_DEPOSIT)",
        (
            "tests/flows/test_order_meaning.py::test_a_display_status_without_a_word_hides_no_status",
        ),
    ),
    Defect(
        "expired-order-payable",
        "The address of an order is shown after its deadline, and the deposit is lost or held.",
        "swapdesk/flows/deposits/deposit_phase.py",
        'over = state.level == "expired" or (state.deadline is not None and state.deadline <= now)',
        "over = state.ended and state.deadline is not None and state.deadline <= now",
        (
            "tests/flows/test_deposits.py::test_an_address_is_drawn_until_its_deadline_and_no_longer",
        ),
    ),
    Defect(
        "gross-instead-of-net",
        "The route that is called the best pays less than another one.",
        "swapdesk/flows/quotes/ranking.py",
        "return quote.net_amount_out if quote.net_amount_out is not None else quote.amount_out",
        "return quote.amount_out if quote.amount_out is not None else quote.net_amount_out",
        ("tests/flows/test_ranking.py::test_what_a_route_pays_after_its_fees_decides",),
    ),
    Defect(
        "route-of-an-unknown-kind-ranked",
        "An order is created on a kind of route of which the desk does not know how it pays.",
        "swapdesk/flows/quotes/ranking.py",
        "(not is_known_kind(quote),",
        "(not quote.type,",
        ("tests/flows/test_ranking.py::test_a_row_that_cannot_be_believed_as_shown_is_not_ranked",),
    ),
    Defect(
        "spoilt-memo-without-a-doubt",
        "What a spreadsheet made of a memo is sent as one, and an exchange credits nobody.",
        "swapdesk/chain/addresses/payments.py",
        "reason, normalized=text, doubt=_doubt(text, label))",
        "reason, normalized=text)",
        (
            "tests/chain/test_memos.py"
            "::test_a_memo_that_a_program_has_changed_is_doubted_and_others_are_not",
        ),
    ),
    Defect(
        "lost-in-a-program-unasked",
        "A payout goes to a token account, which nobody moves it out of, without a question.",
        "swapdesk/flows/payees/recipients.py",
        "[verdict.doubt] if verdict.doubt else []",
        "[]",
        (
            "tests/flows/test_recipients.py"
            "::test_an_address_that_only_a_program_can_spend_from_is_agreed_to",
        ),
    ),
    Defect(
        "memo-of-a-link-dropped",
        "A payment link is paid without the tag that it names, and an exchange credits nobody.",
        "swapdesk/flows/payees/recipients.py",
        "memo=(link.memo if link else None) or (entry.memo if entry else None),",
        "memo=entry.memo if entry else None,",
        ("tests/flows/test_recipients.py::test_the_memo_of_a_link_is_the_memo",),
    ),
    Defect(
        "link-of-another-chain-paid",
        "An address that was given for one chain is paid on another.",
        "swapdesk/flows/payees/recipients.py",
        "        return chain.chain_id == link.chain_id or named\n",
        "        return True\n",
        ("tests/flows/test_recipients.py::test_a_link_for_something_else_says_for_what",),
    ),
    Defect(
        "all-of-the-wallet-with-its-fee",
        "An order is created for everything there is, and its deposit cannot be paid.",
        "swapdesk/flows/quotes/intent_line.py",
        "        balance.spendable\n        if share == 1",
        "        balance.amount\n        if share == 1",
        ("tests/flows/test_intent_line.py::test_an_amount_need_not_be_digits_alone",),
    ),
    Defect(
        "share-rounded-up",
        "More is asked for than the wallet has, or than the service is told.",
        "swapdesk/flows/quotes/intent_line.py",
        "short(quantize(amount, places, up=False))",
        "short(quantize(amount, places, up=True))",
        ("tests/flows/test_intent_line.py::test_an_amount_need_not_be_digits_alone",),
    ),
    Defect(
        "ends-of-an-address-as-they-are-typed",
        "An address that imitates one in other letters, small or large, is taken for a new one.",
        "swapdesk/chain/addresses/display.py",
        "    first, other = first.lower(), other.lower()\n    return first[:END]",
        "    return first[:END]",
        ("tests/chain/test_grouping.py",),
    ),
    Defect(
        "paid-address-imitated",
        "An address that imitates one that was paid before is taken for a new recipient.",
        "swapdesk/flows/payees/recipients.py",
        "    payees += [(short_address(payee), payee) for payee in paid]\n",
        "",
        ("tests/flows/test_recipients.py",),
    ),
    Defect(
        "letters-of-another-script-unseen",
        "A token in Cherokee letters is listed as the one that it imitates.",
        "swapdesk/flows/catalog/confusables.py",
        "    return not skeleton(text).isdisjoint(skeleton(other))",
        "    return text.isascii() and not skeleton(text).isdisjoint(skeleton(other))",
        ("tests/flows/test_catalog.py::test_of_two_thousand_imitations_nearly_none_passes",),
    ),
    Defect(
        "look-alike-in-the-line-unseen",
        "The line of a private send takes an address that imitates one that was paid before.",
        "swapdesk/flows/payees/recipients.py",
        "                paid, deposits = paid_addresses(journal), own_deposits(journal)\n",
        "                deposits = own_deposits(journal)\n",
        ("tests/tui/test_swap.py::test_a_look_alike_is_refused_in_the_line_of_a_private_send",),
    ),
    Defect(
        "amount-of-a-link-unsaid",
        "A bill is paid with another amount than it asks for, and nobody says so.",
        "swapdesk/flows/payees/recipients.py",
        "        if arrives is None:\n            yield",
        "        if arrives is not None:\n            yield",
        ("tests/flows/test_recipients.py::test_what_is_said_of_a_recipient",),
    ),
    Defect(
        "doubted-rows-created-unasked",
        "Rows whose memo a spreadsheet spoilt are created although nobody agreed to them.",
        "swapdesk/flows/batch/creation.py",
        "if not plan.creatable or (plan.doubts and not agreed):",
        "if not plan.creatable:",
        (
            "tests/flows/batch/test_creation.py"
            "::test_a_row_that_is_doubted_is_agreed_to_before_it_is_written",
        ),
    ),
    Defect(
        "unknown-rows-created-with-another-file",
        "Rows that may be orders are created once more with a file that differs in another row.",
        "swapdesk/flows/batch/planner.py",
        '    if row.became == "unknown":',
        '    if row.became == "planned":',
        (
            "tests/flows/batch/test_creation.py"
            "::test_rows_that_may_have_been_created_are_in_no_other_batch",
        ),
    ),
    Defect(
        "rows-created-again-after-a-refused-twin",
        "Rows that are orders are created once more, because a batch of them that was asked for"
        " again was refused.",
        "swapdesk/flows/batch/batches.py",
        "        elif over := _created_before(ledger, digest):",
        '        elif over := _created_before(ledger, ""):',
        (
            "tests/flows/batch/test_creation.py"
            "::test_the_same_rows_are_created_again_only_on_purpose",
        ),
    ),
    Defect(
        "refused-batch-holds-its-rows",
        "Rows of a batch that was refused as a whole cannot be created ever again.",
        "swapdesk/flows/batch/batches.py",
        "        refused = states == {State.REFUSED}",
        "        refused = False",
        (
            "tests/flows/batch/test_creation.py"
            "::test_the_same_rows_are_created_again_only_on_purpose",
        ),
    ),
    Defect(
        "skipped-rows-created",
        "A row that the trader left out of a batch is created and paid.",
        "swapdesk/flows/batch/plan.py",
        "    wanted = [row for row in rows if not row.skipped]",
        "    wanted = list(rows)",
        (
            "tests/flows/batch/test_reading.py"
            "::test_a_row_that_is_skipped_is_left_out_of_everything_until_it_is_taken_in_again",
        ),
    ),
    Defect(
        "warned-tokens-created-unasked",
        "Rows of a token that the service warns of are created although nobody agreed to them.",
        "swapdesk/flows/batch/planner.py",
        'consent("TOKEN_WARNING", column, warned, "look at the token")',
        'look("TOKEN_WARNING", column, warned)',
        (
            "tests/flows/batch/test_creation.py"
            "::test_a_row_that_is_doubted_is_agreed_to_before_it_is_written",
        ),
    ),
    Defect(
        "rows-beyond-the-wallet-ready",
        "Rows of a batch that the wallet cannot pay are created, and half of them are paid.",
        "swapdesk/flows/batch/plan.py",
        "    if order.amount <= rest:",
        "    if order.amount <= has:",
        (
            "tests/flows/batch/test_reading.py"
            "::test_what_the_wallet_has_too_little_for_is_a_problem_of_the_plan",
        ),
    ),
    Defect(
        "payee-of-a-batch-by-the-service-alone",
        "Whoever the service says a row of a batch was paid to is a known payee from then on.",
        "swapdesk/flows/journal/order_log.py",
        "      AND (confirmed = json_extract(last, '$.receiverAddress') OR confirmed LIKE '0x%'",
        "      AND (confirmed > '' OR confirmed LIKE '0x%'",
        (
            "tests/flows/test_recipients.py"
            "::test_completed_orders_of_a_batch_count_as_those_made_one_by_one",
        ),
    ),
    Defect(
        "one-of-two-alike-adopted",
        "Of two orders that may be the trader's one is taken unasked, and its address is paid.",
        "swapdesk/flows/creation/exchange.py",
        "if len(same) == 1:",
        "if same:",
        (
            "tests/flows/test_order_check.py"
            "::test_two_orders_alike_are_listed_with_their_facts_and_one_is_chosen",
        ),
    ),
    Defect(
        "refused-token-paid-out",
        "A token that is disabled or malicious has a recipient.",
        "swapdesk/flows/payees/recipients.py",
        "    if unswappable := token_refusal(token):\n",
        '    if (unswappable := token_refusal(token)) and text == "":\n',
        ("tests/flows/test_recipients.py::test_a_token_that_is_refused_has_no_recipient",),
    ),
    Defect(
        "refund-memo-of-the-book-alone",
        "A refund carries the memo of the address book in place of the one that was given.",
        "swapdesk/flows/payees/recipients.py",
        "typed = check.memo if memo is None else memo",
        "typed = check.memo",
        (
            "tests/flows/test_recipients.py"
            "::test_the_refund_memo_of_a_name_is_posted_unless_another_is_given",
        ),
    ),
    Defect(
        "deposit-of-another-chain-barred",
        "An own address is refused because another chain has a deposit address of its spelling.",
        "swapdesk/flows/payees/recipients.py",
        "if any(on == chain.kind and same_address(on, address, deposit)",
        "if any(same_address(on, address, deposit)",
        ("tests/flows/test_recipients.py::test_what_is_said_of_a_recipient",),
    ),
    Defect(
        "malicious-token-in-the-line",
        "A token that a scan found malicious is asked for and bought.",
        "swapdesk/flows/quotes/intent_line.py",
        "    if refusal := token_refusal(token):\n",
        "    if (refusal := token_refusal(token)) and line.receive:\n",
        ("tests/flows/test_intent_line.py::test_a_malicious_token_is_refused",),
    ),
    Defect(
        "least-told-without-its-slippage",
        "More is told to arrive at least than the slippage that was asked for leaves.",
        "swapdesk/flows/creation/order_verification.py",
        "slippage = SLIPPAGE if asked is None else asked",
        "slippage = SLIPPAGE",
        ("tests/flows/test_ranking.py::test_the_least_is_what_somebody_promised",),
    ),
    Defect(
        "route-that-pays-nothing-chosen",
        "A route whose fees take all of it stands chosen before anybody looked.",
        "swapdesk/flows/quotes/ranking.py",
        "if row.pays and (signs or not row.on_chain)",
        "if signs or not row.on_chain",
        ("tests/flows/test_ranking.py::test_only_usable_routes_are_ranked_by_what_they_pay",),
    ),
    Defect(
        "nothing-read-after-a-drop",
        "What an order became while the stream was down is not seen.",
        "swapdesk/client/live.py",
        'await self._reading.read("snapshot")',
        "await asyncio.sleep(0)",
        (
            "tests/client/test_live.py"
            "::test_it_subscribes_first_then_reads_then_tells_what_was_held_back",
        ),
    ),
)

PAYING = (
    Defect(
        "paid-call-told-as-unpaid",
        "A signature is out, and the desk says that nothing was sent.",
        "swapdesk/client/transport.py",
        "                    error.payment = payment\n",
        "                    error.payment = None\n",
        ("tests/client/test_paid_calls.py",),
    ),
    Defect(
        "payment-of-an-unreadable-answer-forgotten",
        "A call was paid whose answer is of no use, and nobody says so.",
        "swapdesk/client/transport.py",
        "    error.payment = answer.payment\n",
        "",
        ("tests/client/test_paid_calls.py",),
    ),
    Defect(
        "deposit-rounded-down",
        "What is sent is a little less than the order asks for, and the deposit is held back.",
        "swapdesk/flows/orders/deposit_destination.py",
        "quantize(amount, decimals, up=True)",
        "quantize(amount, decimals, up=False)",
        ("tests/flows/test_order_check.py::test_more_digits_than_the_token_has",),
    ),
    Defect(
        "memo-not-on-the-card",
        "A deposit on a chain with memos is sent without one and credited to nobody.",
        "swapdesk/tui/screens/deposit.py",
        "        memo=order.deposit_tag or None,",
        "        memo=order.receiver_tag or None,",
        ("tests/tui/test_scenes.py::test_scene",),
    ),
    Defect(
        "memo-not-in-the-code",
        "Who scans the code pays without the destination tag, and nobody is credited.",
        "swapdesk/chain/addresses/kind.py",
        '(next(iter(self.memo), ""), memo)',
        '(next(iter(self.memo), ""), None)',
        ("tests/chain/test_payment_links.py::test_memos_in_the_code",),
    ),
    Defect(
        "empty-tag-hides-the-other",
        "A deposit is paid without the tag that another name of the same field states.",
        "swapdesk/wire/orders.py",
        'raw[name] in (None, "")',
        "raw[name] is None",
        ("tests/wire/test_vendor_names.py::test_a_recorded_answer_is_read",),
    ),
    Defect(
        "chain-called-by-its-id-takes-any-prefix",
        "An address of another Cosmos chain is accepted, and what is paid there is lost.",
        "swapdesk/chain/addresses/kinds.py",
        '_GENERATION.sub("", chain_name.casefold())',
        "chain_name.casefold()",
        (
            "tests/chain/test_check_address.py"
            "::test_a_chain_of_cosmos_that_is_called_by_its_id_has_its_own_addresses_alone",
        ),
    ),
    Defect(
        "memo-not-promised",
        "The wallet signs a deposit without the memo that the order asks for.",
        "swapdesk/flows/deposits/wallet_funding.py",
        "            order.deposit_tag or None,",
        "            order.receiver_tag or None,",
        ("tests/flows/test_deposits.py::test_the_memo_and_the_amount_of_the_order_are_promised",),
    ),
    Defect(
        "asked-in-vain-and-told-unknown",
        "A deposit of a desk that was killed before its wallet signed is told to be on its way.",
        "swapdesk/flows/deposits/wallet_funding.py",
        "        asked = entry.asked or not (entry.fresh or self.client.accounts.read_only)\n",
        "        asked = entry.asked\n",
        (
            "tests/flows/test_deposits.py"
            "::test_a_desk_killed_between_asking_and_signing_left_nothing_on_its_way",
        ),
    ),
    Defect(
        "told-unsigned-while-another-desk-signs",
        "A review of a deposit takes back what another desk, which has the wallet, asks for.",
        "swapdesk/flows/deposits/wallet_funding.py",
        "        asked = entry.asked or not (entry.fresh or self.client.accounts.read_only)\n",
        "        asked = entry.asked or not entry.fresh\n",
        (
            "tests/flows/test_deposits.py"
            "::test_a_desk_killed_between_asking_and_signing_left_nothing_on_its_way",
        ),
    ),
    Defect(
        "lost-payment-made-again",
        "A deposit whose answer was lost is paid a second time.",
        "swapdesk/flows/payments.py",
        "        claim=_claim(service_id),\n        state=state or",
        "        claim=None,\n        state=state or",
        ("tests/flows/test_ledger.py::test_what_was_decided_first_stands",),
    ),
    Defect(
        "signed-away-and-told-unsigned",
        "A desk that was killed once its wallet had signed a deposit says that nothing was signed.",
        "swapdesk/flows/deposits/wallet_funding.py",
        "        if not self._ledger.move(act.id, State.SENT):",
        "        if not act.open:",
        (
            "tests/cli/test_fund.py"
            "::test_what_was_never_signed_is_told_and_what_may_have_been_stays_unknown",
        ),
    ),
    Defect(
        "unsigned-while-another-signs",
        "While another process may be signing a deposit, it is told that nothing was signed.",
        "swapdesk/flows/deposits/funding.py",
        "        if client.accounts.read_only:\n            return False\n",
        "",
        (
            "tests/cli/test_fund.py"
            "::test_what_was_never_signed_is_told_and_what_may_have_been_stays_unknown",
        ),
    ),
    Defect(
        "group-row-paid-twice",
        "A row of a batch that was paid by itself is paid again by the bundle.",
        "swapdesk/flows/payments.py",
        '        elif stands.body["by"] != "bundle" or not ledger.hand_over(stands.id, payer):',
        '        elif stands.body["by"] == "bundle" and not ledger.hand_over(stands.id, payer):',
        (
            "tests/flows/test_ledger.py"
            "::test_a_deposit_that_was_paid_by_itself_is_not_paid_by_a_bundle",
        ),
    ),
    Defect(
        "bundle-submitted-twice",
        "The signatures of a group leave a second time after an answer that was lost.",
        "swapdesk/flows/batch/bundles.py",
        "        moved = ledger.move(id_, state, code=code, server_at=server_at, **result)",
        "        moved = ledger.move(id_, state, code=code, server_at=server_at, **result)\n"
        "        moved = moved or state is State.SENT",
        ("tests/flows/test_ledger.py::test_what_was_decided_first_stands",),
    ),
    Defect(
        "two-withdrawals-at-once",
        "A withdrawal is signed beside one of the same smart account that is under way.",
        "swapdesk/flows/batch/bundles.py",
        '        return ledger.begin("withdraw", body, claim=claim)',
        '        return ledger.begin("withdraw", body)',
        (
            "tests/flows/test_ledger.py"
            "::test_one_withdrawal_of_a_smart_account_is_under_way_at_a_time",
        ),
    ),
    Defect(
        "withdrawal-left-open-forgotten",
        "The desk's start does not look for a withdrawal that was under way when it was killed.",
        "swapdesk/tui/controllers/signing_controller.py",
        "                withdrawals_left_open(self.running)\n",
        "                pass\n",
        (
            "tests/tui/test_left_open.py"
            "::test_a_withdrawal_that_an_earlier_run_signed_is_taken_up_at_the_start",
        ),
    ),
    Defect(
        "withdrawal-left-open-taken-twice",
        "What a killed run signed is not followed: the next start asks for one more.",
        "swapdesk/flows/batch/withdrawing.py",
        "    work = take_back if session.asked else _followed\n",
        "    work = take_back\n",
        (
            "tests/wallet/test_withdrawing.py"
            "::test_the_next_start_sees_to_its_end_what_a_killed_run_signed",
        ),
    ),
    Defect(
        "unknown-deposit-taken-from-a-bundle-under-way",
        "A bundle goes on with a deposit that another one is paying right now.",
        "swapdesk/flows/journal/ledger.py",
        " AND before.state IN (?, ?, ?))",
        " AND before.state IN (?, ?, ?) AND 0)",
        (
            "tests/flows/test_ledger.py"
            "::test_the_next_bundle_goes_on_with_what_an_earlier_one_may_have_paid",
        ),
    ),
    Defect(
        "revocation-sent-twice",
        "A revocation that is under way is signed and paid for once more.",
        "swapdesk/flows/transactions.py",
        'transaction.intent_id.rpartition("#")[0] in names',
        "transaction.intent_id in names",
        ("tests/flows/test_local_wallet.py::test_a_delegate_is_told_and_its_right_ended_once",),
    ),
    Defect(
        "decimal-comma-dropped",
        "A batch file with 1,5 in it pays 15.",
        "swapdesk/flows/batch/reading.py",
        'return amount.replace(",", ".")',
        'return amount.replace(",", "")',
        (
            "tests/flows/batch/test_reading.py::test_decimal_commas_are_read_as_points_only_when_asked_for",
        ),
    ),
    Defect(
        "row-matched-to-another-recipient",
        "An order that pays somebody else is taken for a row of the batch.",
        "swapdesk/flows/batch/building.py",
        "order.receiver_address is None or not _same(order.receiver_address, asked.address_to)",
        "order.receiver_address is None",
        ("tests/flows/batch/test_creation.py::test_what_differs_from_the_row_is_named",),
    ),
)

SHOWING = (
    Defect(
        "half-a-number-read",
        "A customer who paid 12 000 is found and answered as one who paid nothing.",
        "swapdesk/flows/support/pasted_text.py",
        "        if beside and (len(beside[0]) <= _GROUP_OF_NUMBER or not beside[0].isdigit()):\n",
        "        if beside is None:\n",
        ("tests/flows/support/test_pasted_text.py::test_what_people_paste_is_read_as_what_it_is",),
    ),
    Defect(
        "phrase-without-blanks-searched",
        "A seed phrase in Chinese without blanks is looked up, kept and shown.",
        "swapdesk/flows/support/pasted_secret.py",
        'f"{hashlib.sha256(entropy).digest()[0]:08b}".startswith(bits[size:])',
        "False",
        (
            "tests/flows/support/test_pasted_text.py"
            "::test_signs_of_chinese_in_a_row_are_a_phrase_where_their_checksum_holds",
        ),
    ),
    Defect(
        "broken-key-searched",
        "A private key that is broken over two lines is taken for two ids and sent to the service.",
        "swapdesk/flows/support/pasted_text.py",
        "    for written in dict.fromkeys((text, visible, *_spelled(mended))):",
        "    for written in dict.fromkeys((text, visible)):",
        (
            "tests/flows/support/test_pasted_text.py"
            "::test_a_key_is_seen_over_two_lines_in_an_answer_and_in_a_link",
        ),
    ),
    Defect(
        "digits-of-a-key-passed-on",
        "A private key that was taken for a hash stands whole in the text for the service.",
        "swapdesk/flows/support/order_search.py",
        'for reading in self.pasted.of("transaction") if self.may_be_key else ():',
        "for reading in ():",
        (
            "tests/flows/support/test_order_search.py"
            "::test_digits_that_no_chain_knows_as_a_hash_may_be_a_key",
        ),
    ),
    Defect(
        "groups-of-another-text-joined",
        "Words beside a recipient become a part of the address that is paid.",
        "swapdesk/chain/addresses/display.py",
        "    return whole if len(parts) > 1 and groups(whole) == parts else text",
        "    return whole",
        (
            "tests/chain/test_grouping.py"
            "::test_what_is_drawn_in_groups_is_read_back_and_nothing_else_is_changed",
        ),
    ),
    Defect(
        "webhook-signed-with-nothing",
        "Anybody can sign order updates: they are signed with an empty file.",
        "swapdesk/flows/webhooks.py",
        "    if not _LEAST_BYTES <= len(key) <= _MOST_BYTES:",
        "    if len(key) > _MOST_BYTES:",
        ("tests/flows/test_webhooks.py::test_a_file_without_a_secret_signs_nothing",),
    ),
    Defect(
        "webhook-token-told",
        "The token in the address of a receiver stands on the screen and in error reports.",
        "swapdesk/flows/webhooks.py",
        '    return address if address == url else f"{address}?..."',
        "    return url",
        ("tests/flows/test_webhooks.py::test_what_an_address_asks_for_is_not_told",),
    ),
    Defect(
        "control-character-to-the-terminal",
        "Text of a service moves the cursor and writes another address over the right one.",
        "swapdesk/tui/terminal.py",
        "return [Segment(filter_line(text), style, None) for text, style, _ in segments]",
        "return [Segment(text, style, None) for text, style, _ in segments]",
        ("tests/tui/test_terminal.py::test_the_filter_catches_what_a_foreign_widget_lets_through",),
    ),
    Defect(
        "bidi-character-shown",
        "An address or a name is drawn in another order than it is compared in.",
        "swapdesk/wire/encoding/text.py",
        '_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})',
        '_UNSAFE_CATEGORIES = frozenset({"Cc", "Cs", "Co", "Cn", "Zl", "Zp"})',
        ("tests/wire/test_text.py::test_hostile_text_is_shown_spelled_out",),
    ),
    Defect(
        "amount-as-a-float",
        "Amounts lose their last digits, and a deposit is short or not exact.",
        "swapdesk/wire/encoding/numbers.py",
        "        amount = Decimal(value)\n        return bounded(amount) if",
        "        amount = Decimal(repr(float(value)))\n        return bounded(amount) if",
        ("tests/wire/test_numbers.py::test_wire_text_comes_back_digit_for_digit",),
    ),
    Defect(
        "secret-in-the-request-log",
        "The API secret stands in the log of requests, which is shown and copied.",
        "swapdesk/client/exchange_log.py",
        "        for secret in self._secrets:\n            text = text.replace(secret, MASK)\n",
        "        for secret in self._secrets:\n            text.replace(secret, MASK)\n",
        ("tests/client/test_bookkeeping.py::test_the_log_masks_when_it_writes",),
    ),
    Defect(
        "orders-of-the-first-page-alone",
        "What moved while the stream was down stays unseen where a partner has many orders.",
        "swapdesk/client/live.py",
        "            if listed.empty or page >= listed.total_pages:\n",
        "            if listed.empty or page >= 2:\n",
        ("tests/client/test_live.py::test_a_page_that_cannot_be_read_does_not_end_the_reading",),
    ),
    Defect(
        "credentials-to-another-port",
        "The API secret is sent to another server of the same name.",
        "swapdesk/client/credentials.py",
        "if origin_of(request.url) == self._origin:",
        "if request.url.host == self._origin[1]:",
        ("tests/client/test_transport.py::test_credentials_are_told_to_their_origin_alone",),
    ),
    Defect(
        "frame-with-other-tokens",
        "An update of the stream keeps the token of an earlier one, and the wrong one is paid.",
        "swapdesk/client/stream_socket.py",
        "        if at < 0 or not message.startswith(text, at + len(mark)):",
        "        if at < 0:",
        ("tests/client/test_order_frames.py::test_one_character_otherwise",),
    ),
    Defect(
        "asked-told-as-paid",
        "A customer who paid less is told that all of it is there, and waits for a refund of it.",
        "swapdesk/flows/orders/order_status.py",
        'paid, known = asked if order.is_dex else "the payment", order.is_dex is True',
        "paid, known = asked, True",
        ("tests/flows/support/test_told_facts.py",),
    ),
    Defect(
        "paid-less-not-said",
        "A customer who paid less than the order asked for is told that it came too late, and not"
        " that it was less.",
        "swapdesk/flows/orders/order_status.py",
        "    if deposit is not None and arrived and sent_otherwise(order, deposit):\n",
        "    if False:\n",
        (
            "tests/flows/support/test_told_facts.py"
            "::test_one_who_paid_less_and_too_late_is_told_what_arrived",
        ),
    ),
    Defect(
        "found-payment-forgotten",
        "A payment that was found on its chain is told as money in the wallet, and paid again.",
        "swapdesk/flows/journal/order_log.py",
        '        payments=tuple(_payments(row["payments"]).values()),\n',
        "",
        (
            "tests/flows/support/test_told_facts.py"
            "::test_a_payment_that_was_found_by_its_hash_stays_with_its_order",
        ),
    ),
    Defect(
        "state-told-before-it-is-written",
        "A desk is killed after it showed that the deposit came, and its next start asks for the"
        " deposit once more.",
        "swapdesk/flows/tracking/tracking.py",
        "        if before.withheld != withheld:\n",
        "        if write:\n",
        (
            "tests/flows/test_tracking.py"
            "::test_a_state_is_told_and_an_end_is_shown_once_the_journal_has_it",
        ),
    ),
    Defect(
        "end-believed-from-the-stream",
        "A frame of the stream ends an order that is under way, and nobody follows its money any"
        " more.",
        "swapdesk/flows/tracking/tracking.py",
        'if source == "stream" and over and not (before and',
        "if False and not (before and",
        ("tests/flows/test_tracking.py::test_an_end_that_only_the_stream_tells_is_not_believed",),
    ),
    Defect(
        "payment-of-another-program-unseen",
        "A command of the same home paid the deposit, and the desk asks for it once more.",
        "swapdesk/flows/tracking/tracking.py",
        '        moved += self._changed("own_payment", self._own_payments(self._unpaid))\n',
        "",
        (
            "tests/flows/test_tracking.py"
            "::test_what_another_program_of_this_home_pays_is_not_asked_for",
        ),
    ),
    Defect(
        "state-dropped-by-a-defect",
        "A write that fails by a defect loses the states it had in hand: the next start asks for a"
        " deposit that came.",
        "swapdesk/flows/tracking/order_writes.py",
        "                    self.pending = {**part, **self.pending}\n"
        "                    self.schedule()\n",
        "                    self.schedule()\n",
        ("tests/flows/test_journal.py::test_a_defect_loses_no_order",),
    ),
    Defect(
        "unreadable-journal-taken-for-unpaid",
        "A journal that cannot be read for a moment makes the desk ask for a deposit that it sent.",
        "swapdesk/flows/tracking/tracking.py",
        "        if made is None:\n            return {}\n",
        "        made = made or {}\n",
        (
            "tests/flows/test_tracking.py"
            "::test_a_sighting_keeps_what_was_paid_until_the_service_saw_it",
        ),
    ),
    Defect(
        "old-state-told-as-present",
        "Money that was paid out days ago is told to be held, and is asked for once more.",
        "swapdesk/flows/orders/order_status.py",
        "return tracked.out_of_reach(now) and not status.situation.lasts",
        "return False",
        ("tests/flows/support/test_told_facts.py",),
    ),
    Defect(
        "deadline-by-a-slow-machine",
        "A machine whose clock is slow pays a deposit after its deadline, when nobody exchanges"
        " it any more.",
        "swapdesk/flows/connected_desk.py",
        "            server=service_clock,\n",
        "",
        (
            "tests/flows/support/test_told_facts.py"
            "::test_a_live_desk_whose_clock_is_slow_reckons_orders_by_the_service",
        ),
    ),
    Defect(
        "payment-counted-by-the-list",
        "A token has other decimals than the service says, and support tells a customer that a"
        " million times as much arrived.",
        "swapdesk/flows/support/order_search.py",
        "    decimals = payment.decimals\n",
        "    decimals = None\n",
        (
            "tests/flows/support/test_told_facts.py"
            "::test_what_arrived_counts_by_the_decimals_of_its_chain",
        ),
    ),
    Defect(
        "payment-counted-twice",
        "A payment that node and ledger both show is told twice, and a customer who paid once is"
        " told that too much came.",
        "swapdesk/flows/support/order_search.py",
        "transactions.setdefault((answer.chain, answer.hash.lower()), answer)",
        "transactions.setdefault((answer.chain, str(len(transactions))), answer)",
        ("tests/cli/test_pipe.py",),
    ),
    Defect(
        "memo-of-a-payment-not-read",
        "Who paid with the right memo is told that it is missing, and that the exchange cannot tell"
        " whose money it is.",
        "swapdesk/flows/support/order_search.py",
        "memo=identity_text(str(tag), 64) if tag else None",
        "memo=None",
        ("tests/cli/test_pipe.py",),
    ),
    Defect(
        "page-of-the-service-in-a-reply",
        "A service names an explorer of its own, and the reply sends a customer to a thief's page.",
        "swapdesk/flows/support/support_case.py",
        "known_page(transaction_page(token, hash_))",
        "transaction_page(token, hash_)",
        (
            "tests/flows/support/test_diagnosis.py"
            "::test_who_was_paid_gets_the_transaction_and_its_page",
        ),
    ),
    Defect(
        "expired-batch-told-as-in-the-wallet",
        "An order expired whose bundle had failed: its money is in the smart account, and the desk"
        " says that it is in the wallet.",
        "swapdesk/flows/orders/situations.py",
        "known: known.closing and known.in_account",
        "known: known.over and known.in_account",
        (
            "tests/flows/batch/test_tracked_orders.py"
            "::test_the_money_of_a_bundle_that_failed_is_in_the_smart_account_of_its_orders",
        ),
    ),
    Defect(
        "failed-bundle-told-as-waiting",
        "A bundle failed, and support tells its customers that the payment is on its way.",
        "swapdesk/flows/batch/progress.py",
        'BatchPayment(State.PREPARED, money, place, "you", act, problem, in_account)',
        'BatchPayment(State.PREPARED, money, place, "you", act, "", in_account)',
        (
            "tests/flows/batch/test_tracked_orders.py"
            "::test_the_money_of_a_bundle_that_failed_is_in_the_smart_account_of_its_orders",
        ),
    ),
    Defect(
        "words-of-a-stranger-copied",
        "The reply in a file of a stranger is sent to a customer, whose money goes to a thief.",
        "swapdesk/tui/case_file_app.py",
        "    def do_case_history(self, _: CaseSheet) -> None:",
        "    def do_go_back(self) -> None:\n"
        "        self.app.copy_to_clipboard(str(self.file.record.sheet.reply))\n\n"
        "    def do_case_history(self, _: CaseSheet) -> None:\n"
        "        self.do_go_back()",
        ("tests/tui/test_support_files.py::test_a_file_can_do_nothing_but_be_read",),
    ),
    Defect(
        "case-file-read-as-deep-as-it-is",
        "A file of 200 KB that a customer sends ends the desk that opens it.",
        "swapdesk/flows/support/case_file.py",
        "        refuse_deep(data)\n",
        "",
        ("tests/flows/support/test_case_file.py::test_a_hostile_file_is_refused_in_a_sentence",),
    ),
    Defect(
        "case-file-with-a-time-that-ends-the-desk",
        "A file with a time of no calendar, sent by a customer, ends the desk that opens it.",
        "swapdesk/flows/support/case_file.py",
        "for part in _each_part(msgspec.to_builtins(file, builtin_types=(datetime,))):",
        "for part in ():",
        ("tests/flows/support/test_case_file.py::test_a_hostile_file_is_refused_in_a_sentence",),
    ),
    Defect(
        "case-page-tells-a-strangers-words-as-ours",
        "A colleague sends the reply on a page to a customer, whose money goes to a thief.",
        "swapdesk/flows/support/case_file.py",
        "not_ours=NOT_OURS,",
        "not_ours='',",
        ("tests/flows/support/test_case_file.py::test_it_says_all_that_the_desk_says_of_a_case",),
    ),
    Defect(
        "case-file-shows-amounts-with-addresses",
        "Amounts stand in a file that was to show addresses alone, and is posted.",
        "swapdesk/flows/support/case_file.py",
        '    if "amounts" not in masks.shown:\n        forms',
        "    if not masks.shown:\n        forms",
        ("tests/flows/support/test_case_file.py::test_one_kind_is_shown_alone",),
    ),
    Defect(
        "case-file-tells-what-this-desk-paid",
        "A masked file names the transaction that paid, and by it whose wallet it was.",
        "swapdesk/flows/support/case_file.py",
        'own_payment=replace(own, hash=self.of("hashes", own.hash)) if own else None,',
        "own_payment=own,",
        (
            "tests/flows/support/test_case_file.py"
            "::test_what_is_masked_stands_nowhere_and_what_was_asked_for_does",
        ),
    ),
    Defect(
        "case-file-holds-a-secret",
        "A key that somebody put into a memo stands in a file that is posted publicly.",
        "swapdesk/flows/support/case_file.py",
        "lambda text: SECRET if secret_in(text, secrets) else text",
        "lambda text: text",
        ("tests/flows/support/test_case_file.py::test_no_planted_secret_stands_in_a_file",),
    ),
    Defect(
        "link-search-blind-to-accounts-in-common",
        "A demonstration says that nothing links Alice and Bob where one account pays both.",
        "swapdesk/flows/demo/link_search.py",
        "        if account in (payment.sender, payment.receiver)",
        "        if account == payment.sender",
        ("tests/cli/test_demo.py::test_whatever_links_two_accounts_is_found",),
    ),
    Defect(
        "page-runs-what-a-service-wrote",
        "A page that leaves the program shows names of the service as its own markup.",
        "swapdesk/web_page.py",
        "autoescape=True",
        "autoescape=False",
        ("tests/cli/test_demo_page.py::test_text_of_the_service_stays_data_in_every_field",),
    ),
    Defect(
        "page-draws-alice-and-bob-apart-where-a-payment-joins-them",
        "The drawing of a link search says that no payment leads from Alice to Bob; one does.",
        "swapdesk/flows/demo/link_graph.py",
        "[*stage.moved, *linked, *crowd]",
        "[*stage.moved, *crowd]",
        (
            "tests/flows/test_link_graph.py"
            "::test_a_path_that_was_found_is_marked_and_leads_to_the_right",
        ),
    ),
    Defect(
        "demo-says-money-is-with-the-next-exchange",
        "While a demonstration runs, the money line names an exchange that has nothing yet.",
        "swapdesk/flows/demo/demonstration.py",
        "money, next_ = money_at(known.legs, *row.holder)",
        "money, next_ = money_at(known.legs, len(known.legs) - 1, row.holder[1])",
        ("tests/cli/test_demo.py::test_money_line_follows_the_stage",),
    ),
    Defect(
        "doctor-sets-a-linked-journal-aside",
        "The command that doctor names hides the journal, and what it holds is paid twice.",
        "swapdesk/flows/doctor/home_checks.py",
        "        if path.is_symlink() and path.is_file():",
        "        if path.is_symlink() and path.is_dir():",
        ("tests/cli/test_doctor.py::test_a_broken_home_is_named_and_mended",),
    ),
    Defect(
        "doctor-replaces-what-was-set-aside",
        "A second journal that is set aside replaces the first, and with it what was paid.",
        "swapdesk/flows/doctor/home_checks.py",
        "next(one for name in names if not os.path.lexists(one := path.with_name(name)))",
        "path.with_name(next(names))",
        ("tests/cli/test_doctor.py::test_what_was_set_aside_before_stays",),
    ),
    Defect(
        "doctor-looks-at-no-key-file",
        "A key that other users may read is called private.",
        "swapdesk/flows/doctor/home_checks.py",
        '        checked += [shared("files", file) for file in sorted(keys.iterdir())]',
        "        checked += []",
        ("tests/cli/test_doctor.py::test_a_broken_home_is_named_and_mended",),
    ),
    Defect(
        "doctor-takes-any-node",
        "A node of another chain is called well, and shows a wallet that has nothing.",
        "swapdesk/flows/doctor/service_checks.py",
        "    if chain_id != link.chain_id:",
        "    if chain_id is None:",
        ("tests/cli/test_doctor.py::test_a_broken_profile_is_named_and_mended",),
    ),
    Defect(
        "doctor-runs-what-a-file-says",
        "A name in a configuration that somebody sent runs as a command when it is mended.",
        "swapdesk/installation.py",
        "        return shlex.quote(word)",
        "        return word",
        ("tests/cli/test_doctor.py::test_texts_of_files_reach_neither_the_terminal_nor_a_shell",),
    ),
    Defect(
        "desk-writes-a-case-unmasked",
        "A file that is posted publicly shows every address and amount, without a key for it.",
        "swapdesk/tui/screens/inspect.py",
        "        self._shown: set[Shown] = set()",
        "        self._shown: set[Shown] = set(get_args(Shown))",
        ("tests/tui/test_support_files.py::test_a_file_can_do_nothing_but_be_read",),
    ),
    Defect(
        "command-forgets-whom-it-paid",
        "An address that imitates one that was paid before is taken by a command.",
        "swapdesk/cli/creation.py",
        "        paid=paid_addresses(desk.journal),\n"
        "        own_deposits=own_deposits(desk.journal),\n"
        "        contracts=token_contracts(desk.catalog, token),\n"
        "        arrives=arrives,",
        "        paid={},\n"
        "        own_deposits=own_deposits(desk.journal),\n"
        "        contracts=token_contracts(desk.catalog, token),\n"
        "        arrives=arrives,",
        ("tests/cli/test_pipe.py::test_private_send_then_watch",),
    ),
    Defect(
        "command-pays-a-token-contract",
        "What is sent to the contract of a token is lost.",
        "swapdesk/cli/creation.py",
        "        contracts=token_contracts(desk.catalog, token),\n        arrives=arrives,",
        "        contracts=(),\n        arrives=arrives,",
        ("tests/cli/test_refusals.py::test_bad_input_is_refused_and_creates_nothing",),
    ),
    Defect(
        "command-drops-a-refund-memo",
        "A refund goes to an exchange without the memo that was given, and is nobody's there.",
        "swapdesk/cli/creation.py",
        "refund = check(memo=request.refund_memo)",
        'refund = check(memo="")',
        ("tests/cli/test_refusals.py::test_bad_input_is_refused_and_creates_nothing",),
    ),
    Defect(
        "solana-payment-lost-before-it-expired",
        "What may still be executed is called lost, and the same deposit is paid a second time.",
        "swapdesk/agent/transactions/delivery.py",
        "        if expired and height > (transaction.last_valid_height or 0):",
        "        if expired:",
        (
            "tests/wallet/test_solana_deposits.py"
            "::test_a_payment_that_expired_may_be_signed_anew_and_only_then",
        ),
    ),
    Defect(
        "newer-service-refused",
        "On the day a service adds a member to its answers, no order can be seen or paid.",
        "swapdesk/wire/model.py",
        'extra="ignore",',
        'extra="forbid",',
        (
            "tests/client/test_api.py::test_every_operation_is_understood_both_ways",
            "tests/cli/test_newer_service.py::test_added_members_change_nothing",
        ),
    ),
    Defect(
        "newer-state-to-be-paid",
        "An order in a state that this desk does not know is told to be paid.",
        "swapdesk/flows/orders/order_status.py",
        "        payable=row is WAITING,",
        "        payable=row in (WAITING, SITUATIONS['unknown state']),",
        ("tests/cli/test_newer_service.py::test_nothing_is_payable_in_a_state_that_nobody_knows",),
    ),
    Defect(
        "unreadable-orders-unsaid",
        "Orders that cannot be read are missing from a list that looks whole.",
        "swapdesk/cli/order_reports.py",
        "left_out_words(call.link.tracker.skipped)",
        "left_out_words(0)",
        ("tests/cli/test_newer_service.py::test_orders_that_cannot_be_read_are_counted",),
    ),
)
