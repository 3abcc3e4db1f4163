"""Defects that the suite must find, each a slip that would cost money, privacy or an order.

A suite that was made faster proves what it proved before if ``python -m tests.planted`` still
finds all of them. A defect whose text is changed in the source is written anew here, so that it
means the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = "src"


@dataclass(frozen=True)
class Defect:
    """``old`` stands once in ``file``, a path under ``src``; planted, ``new`` stands there.

    ``loses`` says what a user would lose. ``found_by`` are test files or ids, of which at least
    one test fails then.
    """

    name: str
    loses: str
    file: str
    old: str
    new: str
    found_by: tuple[str, ...]

    def source(self) -> str:
        """The file as it is."""
        return (ROOT / SOURCES / self.file).read_text(encoding="utf-8")

    def planted(self) -> str:
        """The file with the defect."""
        return self.source().replace(self.old, self.new)


CREATING = (
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
        "swapdesk/client/retry.py",
        "return told if isinstance(error, RateLimited) and attempt == 1 else None",
        "return told or 0.0 if attempt == 1 else None",
        (
            "tests/client/test_transport.py"
            "::test_a_lost_answer_leaves_a_write_unknown_and_is_never_sent_twice",
        ),
    ),
    Defect(
        "gateway-error-taken-for-refusal",
        "An order that exists is told as not created, and the trader creates another one.",
        "swapdesk/client/outcomes.py",
        "unsure = isinstance(error, AnswerRefused | ServiceFailed)",
        "unsure = isinstance(error, AnswerRefused)",
        ("tests/flows/test_exchange.py::test_a_gateway_error_after_the_create_is_looked_up",),
    ),
    Defect(
        "sent-create-taken-for-unsent",
        "After a crash an order that was created is forgotten, and is created again.",
        "swapdesk/flows/creation/resume.py",
        "step.state is StepState.PREPARED or step.sent_at is None",
        "step.state in (StepState.PREPARED, StepState.SENT) or step.sent_at is None",
        (
            "tests/flows/test_exchange.py"
            "::test_a_kill_after_sending_is_resumed_without_a_second_post",
        ),
    ),
    Defect(
        "unknown-twin-allowed",
        "The same payment is created again while nobody knows whether the first one exists.",
        "swapdesk/flows/journal/intent_log.py",
        "                (intent.fingerprint, IntentState.OPEN, IntentState.UNKNOWN),",
        "                (intent.fingerprint, IntentState.OPEN, IntentState.OPEN),",
        ("tests/flows/test_journal.py::test_a_payment_of_unknown_outcome_blocks_its_twin_only",),
    ),
    Defect(
        "older-order-adopted",
        "An order of another payment is taken for the one that was lost.",
        "swapdesk/flows/creation/reconciliation.py",
        "fresh = [order for order in listed if order.service_id not in known]",
        "fresh = listed",
        ("tests/flows/test_exchange.py::test_an_order_that_was_there_before_is_never_adopted",),
    ),
    Defect(
        "expired-quote-created",
        "An order is created on a quote that ended, at whatever rate holds then.",
        "swapdesk/flows/creation/exchange.py",
        "if intent.valid_until - self._clock.now() <= LAST_MOMENT:",
        "if intent.frozen_at - self._clock.now() > LAST_MOMENT:",
        ("tests/flows/test_exchange.py::test_an_expired_quote_is_not_sent",),
    ),
    Defect(
        "answer-about-another-id",
        "The deposit address of another order is shown for the one that was asked for.",
        "swapdesk/client/api_connection.py",
        "if any(one is not None and one != asked for one in told):",
        "if all(one is None and one != asked for one in told):",
        ("tests/client/test_api.py::test_an_answer_about_another_id_is_of_no_use",),
    ),
)

CONFIRMED = (
    Defect(
        "swapped-deposit-address",
        "A deposit address that changed between two answers is shown and paid.",
        "swapdesk/flows/creation/order_check.py",
        "if created.deposit_address not in (None, read.deposit_address):",
        "if created.deposit_address is not None and read.deposit_address is None:",
        ("tests/flows/test_order_check.py",),
    ),
    Defect(
        "recipient-of-order-unchecked",
        "An order that pays somebody else is released for payment.",
        "swapdesk/flows/creation/order_check.py",
        "        intent.token_out.kind, order.receiver_address, intent.recipient\n    ):",
        "        intent.token_out.kind, order.receiver_address, order.receiver_address\n    ):",
        ("tests/flows/test_order_check.py::test_a_hard_difference_hides_the_address",),
    ),
    Defect(
        "middle-refund-unchecked",
        "A private swap that fails between its legs returns the money to somebody else.",
        "swapdesk/flows/creation/order_check.py",
        "        None,\n        intent.intermediate_refund,\n    ):",
        "        None,\n        order.intermediate_refund_address,\n    ):",
        (
            "tests/flows/test_order_check.py"
            "::test_another_refund_address_in_the_middle_is_a_hard_difference",
        ),
    ),
    Defect(
        "foreign-order-released",
        "The deposit address of an order that nobody confirmed here is shown as one's own.",
        "swapdesk/flows/intents/standing.py",
        "frozenset({Standing.UNREPEATED, Standing.DIFFERS, Standing.CONTRADICTS}),",
        "frozenset({*Standing}),",
        (
            "tests/flows/test_journal.py"
            "::test_an_order_seen_before_it_was_confirmed_here_stays_hidden",
        ),
    ),
    Defect(
        "hidden-order-released",
        "An order that was found to differ is released by a later look.",
        "swapdesk/flows/journal/order_log.py",
        "        if verdict.standing not in MAY_FOLLOW[stands.standing]:\n"
        "            return stands\n",
        "",
        ("tests/flows/test_journal.py",),
    ),
    Defect(
        "unknown-status-taken-for-waiting",
        "An order in a state that nobody knows is shown as waiting for money.",
        "swapdesk/flows/journal/folding.py",
        "return _BY_STATUS.get(status)",
        "return _BY_STATUS.get(status, DisplayStatus.WAITING_FOR_DEPOSIT)",
        ("tests/flows/test_folding.py",),
    ),
    Defect(
        "expired-order-payable",
        "The address of an order is shown after its deadline, and the deposit is lost or held.",
        "swapdesk/flows/deposits/deposit_phase.py",
        'over = state.level == "expired" or (state.deadline is not None and state.deadline <= now)',
        "over = state.ended and state.deadline is not None and state.deadline <= now",
        ("tests/flows/test_deposit_money.py", "tests/tui/test_deposit.py"),
    ),
    Defect(
        "gross-instead-of-net",
        "The route that is called the best pays less than another one.",
        "swapdesk/flows/quotes/ranking.py",
        "return quote.net_amount_out if quote.net_amount_out is not None else quote.amount_out",
        "return quote.amount_out if quote.amount_out is not None else quote.net_amount_out",
        ("tests/flows/test_ranking.py",),
    ),
)

PAYING = (
    Defect(
        "deposit-rounded-down",
        "What is sent is a little less than the order asks for, and the deposit is held back.",
        "swapdesk/flows/orders/payable_amount.py",
        "quantize(amount, decimals, up=True)",
        "quantize(amount, decimals, up=False)",
        ("tests/flows/test_payable_amount.py",),
    ),
    Defect(
        "memo-not-on-the-card",
        "A deposit on a chain with memos is sent without one and credited to nobody.",
        "swapdesk/tui/screens/deposit_facts.py",
        "        memo=order.deposit_tag or None,",
        "        memo=None if order.fixed or order.anonymous else order.receiver_tag,",
        ("tests/tui/test_deposit.py::test_the_card_of_a_chain_with_tags",),
    ),
    Defect(
        "memo-not-in-the-code",
        "Who scans the code pays without the destination tag, and nobody is credited.",
        "swapdesk/chain/addresses/payment_uri.py",
        '("dt", payment.memo)',
        '("dt", None)',
        ("tests/chain/test_payment_uri.py::test_memos_in_the_code",),
    ),
    Defect(
        "memo-not-promised",
        "The wallet signs a deposit without the memo that the order asks for.",
        "swapdesk/flows/deposits/deposit_promise.py",
        "            order.deposit_tag or None,",
        "            order.receiver_tag or None,",
        ("tests/flows/test_deposit_transfer.py", "tests/wallet/test_solana_deposits.py"),
    ),
    Defect(
        "lost-payment-made-again",
        "A deposit whose answer was lost is paid a second time.",
        "swapdesk/flows/journal/call_log.py",
        "            if row is not None:\n                raise PaidBefore(_call_of(row))\n"
        "            added",
        '            if row is not None and row["state"] == StepState.ACKED:\n'
        "                raise PaidBefore(_call_of(row))\n            added",
        ("tests/flows/test_funding.py::test_a_lost_answer_is_never_followed_by_a_second_payment",),
    ),
    Defect(
        "group-row-paid-twice",
        "A row of a batch that was paid by itself is paid again by the bundle.",
        "swapdesk/flows/journal/call_log.py",
        '        if row is not None and row["path"] != BUNDLE_PAYMENT:\n'
        "            raise PaidBefore(_call_of(row))\n",
        "",
        (
            "tests/flows/batch/test_settling.py"
            "::test_a_deposit_is_paid_by_the_bundle_or_by_itself_and_never_by_both",
        ),
    ),
    Defect(
        "bundle-submitted-twice",
        "The signatures of a group leave a second time after an answer that was lost.",
        "swapdesk/flows/journal/bundle_log.py",
        "            (BundleState.SIGNED,),\n            sent_at=",
        "            (BundleState.SIGNED, *UNDER_WAY),\n            sent_at=",
        (
            "tests/flows/batch/test_settling.py"
            "::test_a_lost_answer_of_the_submit_is_looked_for_and_never_sent_again",
        ),
    ),
    Defect(
        "revocation-sent-twice",
        "A revocation that is under way is signed and paid for once more.",
        "swapdesk/flows/wallet/revoking.py",
        'one.intent_id.rpartition("#")[0] == name',
        "one.intent_id == name",
        (
            "tests/flows/test_revoking_on_solana.py"
            "::test_a_delegate_is_told_and_its_right_ended_once",
        ),
    ),
    Defect(
        "decimal-comma-dropped",
        "A batch file with 1,5 in it pays 15.",
        "swapdesk/flows/batch/reading.py",
        'return amount.replace(",", ".")',
        'return amount.replace(",", "")',
        ("tests/flows/batch/test_reading.py",),
    ),
    Defect(
        "row-matched-to-another-recipient",
        "An order that pays somebody else is taken for a row of the batch.",
        "swapdesk/flows/batch/comparing.py",
        "order.receiver_address is None or not _same(order.receiver_address, asked.address_to)",
        "order.receiver_address is None",
        ("tests/flows/batch/test_creation.py::test_an_order_of_somebody_else_is_not_taken",),
    ),
)

SIGNING = (
    Defect(
        "unlimited-approval",
        "A contract may take every token of the account for ever.",
        "swapdesk/agent/gate/rules/amounts.py",
        "        consented = promise.unlimited and flow.units == claim.limitless",
        "        consented = flow.units == claim.limitless",
        (
            "tests/agent/test_gate_rules.py"
            "::test_unlimited_is_the_tokens_own_number_and_by_consent_alone",
        ),
    ),
    Defect(
        "chain-id-ignored",
        "A signature for another chain is given, and money leaves there.",
        "swapdesk/agent/gate/rules/chain.py",
        "elif claim.chain_id is not None and claim.chain_id != promised:",
        "elif claim.chain_id is None and claim.chain_id != promised:",
        ("tests/agent/test_gate_rules.py",),
    ),
    Defect(
        "recipient-of-the-payload",
        "The recipient is compared with itself, so that a swap may pay anybody.",
        "swapdesk/agent/gate/rules/recipient.py",
        "        if receiver != case.promise.recipient:",
        "        if receiver != receivers[0][1]:",
        ("tests/agent/test_gate_rules.py",),
    ),
    Defect(
        "sum-of-signatures-uncounted",
        "Several signatures for one swap let more be taken than was confirmed.",
        "swapdesk/agent/gate/rules/steps.py",
        "    taken = most_taken([*earlier, (once, own)])\n",
        "    taken = most_taken([(once, own)])\n",
        ("tests/agent/test_gate_rules.py",),
    ),
    Defect(
        "gas-bound-per-unit",
        "A transaction is signed whose fee is far above what was confirmed.",
        "swapdesk/agent/gate/rules/gas.py",
        "    elif facts.gas.most > bound:",
        "    elif facts.gas.fee > bound:",
        ("tests/agent/test_gate_rules.py",),
    ),
    Defect(
        "deposit-of-any-larger-amount",
        "A deposit larger than the order asks for is signed, and the rest is held.",
        "swapdesk/agent/gate/rules/deposit.py",
        "        if units != deposit.units:",
        "        if units < deposit.units:",
        ("tests/agent/test_gate_rules.py",),
    ),
    Defect(
        "nonce-given-twice",
        "A node that is behind has a nonce signed twice: a payment replaces another one.",
        "swapdesk/agent/transactions/admission.py",
        "return of_node if last is None else max(of_node, last + 1)",
        "return of_node",
        (
            "tests/agent/test_records.py"
            "::test_nonces_follow_each_other_also_when_the_node_is_behind",
        ),
    ),
    Defect(
        "old-blockhash-signed",
        "A transaction is signed that may end unexecuted, and its order expires unpaid.",
        "swapdesk/agent/gate/rules/validity.py",
        "    elif left < LEAST_BLOCKS:",
        "    elif left < 0:",
        ("tests/agent/test_gate_solana.py::test_a_blockhash_has_to_live_a_little_longer",),
    ),
    Defect(
        "last-valid-height-ignored",
        "A payment that may still be executed is given up, signed anew and paid twice.",
        "swapdesk/agent/transactions/solana_delivery.py",
        "        if expired and height > (one.last_valid_height or 0):",
        "        if expired:",
        (
            "tests/wallet/test_solana_signing.py"
            "::test_a_payment_that_expired_may_be_signed_anew_and_only_then",
        ),
    ),
    Defect(
        "signature-not-remembered",
        "A permit leaves that no record counts, and more is signed beside it.",
        "swapdesk/agent/process/signing.py",
        "        # Written down before it leaves: what may be in the world is remembered.\n"
        "        self._records.write_given(subject.promise.intent_id, given, self._clock.now())\n",
        "",
        ("tests/wallet/test_signing.py::test_what_was_counted_survives_a_kill",),
    ),
    Defect(
        "open-key-file",
        "A key file that every user of the machine can read is used without a word.",
        "swapdesk/paths.py",
        'if os.name == "posix" and status.st_mode & _OTHERS:',
        'if os.name == "posix" and directory and status.st_mode & _OTHERS:',
        ("tests/wallet/test_agent_keys.py",),
    ),
    Defect(
        "wallet-stays-unlocked",
        "The keys stay open on a machine that nobody sits at.",
        "swapdesk/agent/process/idle.py",
        "return self._clock.monotonic() - self._last >= self._seconds",
        "return self._clock.monotonic() - self._last >= MAX_SECONDS",
        ("tests/agent/test_idle_lock.py",),
    ),
)

SHOWING = (
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
        ("tests/wire/test_text.py",),
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
        "swapdesk/client/order_frames.py",
        "        if at < 0 or not message.startswith(text, at + len(mark)):",
        "        if at < 0:",
        ("tests/client/test_order_frames.py",),
    ),
)

SERVING = (
    Defect(
        "answer-before-the-commit",
        "An order that was confirmed to the partner is gone after a crash or on a full disk.",
        "swapdesk/service/store/writer.py",
        '            connection.execute("COMMIT")\n',
        '            self._resolve(batch)\n            connection.execute("COMMIT")\n',
        ("tests/service/test_store.py",),
    ),
    Defect(
        "order-state-overwritten",
        "Two workers move one order, and the later one takes the state of the first back.",
        "swapdesk/service/store/statements.py",
        '" WHERE service_id = :service_id AND version = :expected AND rank <= :rank"',
        '" WHERE service_id = :service_id AND rank <= :rank"',
        ("tests/service/test_store.py::test_a_state_moves_by_compare_and_set_and_never_back",),
    ),
    Defect(
        "quote-used-twice",
        "A create that is repeated by a retry opens a second exchange on one quote.",
        "swapdesk/service/store/sqlite.py",
        '                " AND partner_id = :partner_id AND consumed_by IS NULL",\n',
        '                " AND partner_id = :partner_id",\n',
        ("tests/service/test_store.py",),
    ),
    Defect(
        "replay-with-another-body",
        "A create for another recipient is answered with the order of the first recipient.",
        "swapdesk/service/orders/creation.py",
        "        if order.request_digest != digest:",
        "        if not order.request_digest:",
        ("tests/service/test_creation.py::test_a_used_quote_takes_no_other_body",),
    ),
    Defect(
        "order-of-another-partner",
        "Every partner may read the orders of all others by their id.",
        "swapdesk/service/store/sqlite.py",
        'return await self._one_order("partner_id = ? AND service_id = ?", (partner_id, service_id))',
        'return await self._one_order("service_id = ?2", (partner_id, service_id))',
        ("tests/service/test_isolation.py",),
    ),
    Defect(
        "written-order-of-another-partner",
        "An order whose answer is kept is given to every partner who asks.",
        "swapdesk/service/store/statements.py",
        '"SELECT version, created FROM orders WHERE partner_id = ? AND service_id = ?"',
        '"SELECT version, created FROM orders WHERE service_id = ?2"',
        ("tests/service/test_isolation.py",),
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
        "swapdesk/service/orders/quote_use.py",
        "    if quote.expires <= now:\n",
        "    if quote.expires <= now and quote.fixed:\n",
        ("tests/service/test_creation.py::test_quotes_that_cannot_be_used_are_refused_alike",),
    ),
    Defect(
        "read-key-writes",
        "A key that was given away for reading creates orders.",
        "swapdesk/service/access.py",
        'if writes and caller.key is not None and caller.key.scope == "read":',
        "if writes and caller.key is None and access is Access.KEY:",
        ("tests/service/test_access.py",),
    ),
    Defect(
        "deposit-in-time-expired",
        "An order expires although its deposit arrived in time.",
        "swapdesk/service/orders/progress.py",
        "    if waits and not arrived and (asked or now) >= row.expires:",
        "    if waits and (asked or now) >= row.expires:",
        ("tests/service/test_lifecycle.py::test_a_deposit_seen_in_time_is_not_expired",),
    ),
)

CHAINS = (
    Defect(
        "ledger-pays-what-is-not-there",
        "A chain of the sandbox moves money that its sender does not have.",
        "swapdesk/sandbox/node/ledger.py",
        "        if held < units:\n",
        "        if held <= 0:\n",
        ("tests/sandbox/test_node.py",),
    ),
    Defect(
        "deposit-of-another-token-credited",
        "A worthless token on the deposit address counts as the deposit.",
        "swapdesk/sandbox/node/crediting.py",
        '        if row is None or row["token_in"] != transfer.token:',
        "        if row is None:",
        ("tests/sandbox/test_node.py::test_another_token_on_the_address_is_not_credited",),
    ),
    Defect(
        "transaction-executed-twice",
        "The same signed bytes pay twice on the Solana chain of the sandbox.",
        "swapdesk/sandbox/node/solana/chain.py",
        "            return REPEATED\n",
        "            pass\n",
        ("tests/sandbox/solana/test_solana_chain.py",),
    ),
    Defect(
        "replacement-for-the-same-fee",
        "Anybody's later transaction of a nonce takes the place of the first one for nothing.",
        "swapdesk/sandbox/node/evm/mempool.py",
        "            _require_bump(before, candidate)\n",
        "            pass\n",
        ("tests/sandbox/evm/test_evm_chain.py", "tests/sandbox/evm/test_evm_pool.py"),
    ),
)

DEFECTS = (*CREATING, *CONFIRMED, *PAYING, *SIGNING, *SHOWING, *SERVING, *CHAINS)
