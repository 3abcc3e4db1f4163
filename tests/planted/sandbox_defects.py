"""Defects of the sandbox around its chains: the exchanges' books, faults, the server."""

from __future__ import annotations

from .defect import Defect

NODE = "tests/sandbox/test_node.py::"
TERMS = "tests/sandbox/test_node_terms.py::"
SERVE = "tests/sandbox/test_serve.py::"
CHAINS = "tests/sandbox/test_chain_books.py::"
SOLANA = "tests/sandbox/solana/test_solana_payments.py::"

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
        "audit-of-nothing",
        "Money that was made out of nothing is no finding of the audit.",
        "swapdesk/sandbox/node/ledger.py",
        "if issued.get(token, 0) != held.get(token, 0) or token in negative",
        "if token in negative",
        (f"{NODE}test_the_audit_sees_a_single_unit",),
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
        "swapdesk/sandbox/node/chain_books.py",
        "payment.expires is None or payment.expires >= height",
        "payment.expires is None",
        (
            f"{SOLANA}test_what_was_signed_and_never_left_is_sent_after_a_restart",
            f"{SOLANA}test_what_was_executed_unknown_to_the_books_is_never_paid_again",
        ),
    ),
    Defect(
        "executed-payment-unseen",
        "What was executed while the node was down is taken for expired, and signed anew.",
        "swapdesk/sandbox/node/chain_books.py",
        "            found = wallets.mined(payment.hash)\n",
        "            found = wallets.mined(payment.hash) if payment.expires is None else None\n",
        (f"{SOLANA}test_what_was_executed_unknown_to_the_books_is_never_paid_again",),
    ),
    Defect(
        "blocks-read-again",
        "After a restart the books credit deposits that they have credited.",
        "swapdesk/sandbox/node/chain_books.py",
        '                    self._database.put(f"read {name}", str(last))\n',
        "                    pass\n",
        (f"{CHAINS}test_what_was_paid_in_time_and_read_late_is_a_deposit",),
    ),
    Defect(
        "deposit-read-late",
        "What was paid in time is taken for late, because the node read it late.",
        "swapdesk/sandbox/node/chain_books.py",
        "        at = Moment(min(here.now, arrival.seconds * 1000), here.world)\n",
        "        at = here\n",
        (f"{CHAINS}test_what_was_paid_in_time_and_read_late_is_a_deposit",),
    ),
    Defect(
        "expired-unread",
        "A leg expires though its deposit stands in a block that nobody has read.",
        "swapdesk/sandbox/node/venue_accounts.py",
        "        if expires and wallets is not None and wallets.touched and not wallets.is_open:\n",
        "        if expires and wallets is None and row is None:\n",
        (f"{CHAINS}test_what_was_paid_in_time_and_read_late_is_a_deposit",),
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
        "swapdesk/sandbox/node/account_rows.py",
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
        (f"{NODE}test_a_late_deposit_goes_back_when_somebody_said_where_to",),
    ),
    Defect(
        "held-deposit-unsaid",
        "An exchange keeps a second deposit, and nobody is told that somebody has to act.",
        "swapdesk/sandbox/node/venue_accounts.py",
        "                each.late and each.counted and",
        "                each.late and not each.counted and",
        (f"{NODE}test_a_second_deposit_after_the_payout",),
    ),
    Defect(
        "world-of-other-tables",
        "A sandbox goes on with orders of coins that have other decimals now.",
        "swapdesk/sandbox/node/issued_world.py",
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
        "other-chain-ids-put-aside",
        "A wrong option puts a world with orders aside.",
        "swapdesk/sandbox/node/node.py",
        '            raise OtherTerms(f"{name} {stored}")\n',
        "            pass\n",
        (f"{TERMS}test_other_chain_ids_than_those_of_the_world_are_refused",),
    ),
)

FAULTS: tuple[Defect, ...] = ()

SERVER: tuple[Defect, ...] = ()
