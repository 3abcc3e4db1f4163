"""Defects of the chains of the sandbox: what was mined, and what a node says of it."""

from __future__ import annotations

from .defect import Defect

EVM: tuple[Defect, ...] = ()

_CHAIN = "swapdesk/sandbox/node/solana/chain.py"
_METHODS = "swapdesk/sandbox/node/solana/methods.py"
_SOLANA_CHAIN = "tests/sandbox/solana/test_solana_chain.py"
_SOLANA_SHAPES = "tests/sandbox/solana/test_solana_shapes.py"
_SOLANA_PAYMENTS = "tests/sandbox/solana/test_solana_payments.py"

SOLANA = (
    Defect(
        "solana-answered-before-it-is-on-disk",
        "A transaction that was answered is gone after the node was killed.",
        _CHAIN,
        "            self._log.append(msgspec.msgpack.encode(mined))\n",
        "            pass\n",
        (
            f"{_SOLANA_CHAIN}::test_a_transfer_is_executed_kept_over_a_restart_and_never_repeated",
            "tests/sandbox/solana/test_solana_kill.py",
        ),
    ),
    Defect(
        "solana-repeats-are-told-by-the-signature",
        "Who signs the same message twice pays twice.",
        _CHAIN,
        "        if bytes(message.hash()) in self._messages:\n",
        "        if bytes(transaction.signatures[0]) in self._places:\n",
        (f"{_SOLANA_CHAIN}::test_the_same_message_under_another_signature_is_a_repeat",),
    ),
    Defect(
        "solana-memory-ahead-of-the-disk",
        "Coins have moved by a transaction that a full disk did not keep: it moves them again.",
        _CHAIN,
        "                self.machine.put(key, before)\n",
        "                pass\n",
        (f"{_SOLANA_CHAIN}::test_a_disk_that_fails_leaves_memory_as_the_disk_is",),
    ),
    Defect(
        "solana-closed-accounts-come-back",
        "Tokens that were burnt stand in their account again after a restart.",
        _CHAIN,
        "            accounts |= each.changed\n",
        "            accounts |= {key: raw for key, raw in each.changed.items() if raw}\n",
        (f"{_SOLANA_CHAIN}::test_the_catalogue_and_what_else_is_made_survive",),
    ),
    Defect(
        "solana-height-forgotten",
        "After a restart with a clock that was set back blocks come a second time.",
        _CHAIN,
        "        reached = self._mined[-1].height if self._mined else 0\n",
        "        reached = 0\n",
        (f"{_SOLANA_CHAIN}::test_a_transfer_is_executed_kept_over_a_restart_and_never_repeated",),
    ),
    Defect(
        "solana-other-world-taken",
        "A directory of another key is opened: nobody can sign for what stands on its chain.",
        _CHAIN,
        "        if first.genesis != self.genesis:\n",
        "        if not first.genesis:\n",
        (f"{_SOLANA_CHAIN}::test_another_key_or_world_is_refused",),
    ),
    Defect(
        "solana-older-file-overlooked",
        "A chain of an older release is left aside and another one begun beside the same books.",
        "swapdesk/sandbox/node/solana/node.py",
        "        if older.exists():\n",
        "        if older.is_dir():\n",
        (f"{_SOLANA_CHAIN}::test_another_key_or_world_is_refused",),
    ),
    Defect(
        "solana-blockhash-never-expires",
        "What expired is executed later, beside what was signed in its place.",
        "swapdesk/sandbox/node/solana/machine.py",
        "for each in range(newest - WINDOW, newest + 1))\n",
        "for each in range(newest - 2 * WINDOW, newest + 1))\n",
        (
            f"{_SOLANA_CHAIN}::test_a_blockhash_is_good_for_150_blocks_from_its_own_on",
            f"{_SOLANA_CHAIN}::test_an_expired_transaction_is_never_executed",
        ),
    ),
    Defect(
        "solana-signatures-unchecked-after-a-simulation",
        "Anybody's transaction is executed without the signatures of those who pay.",
        "swapdesk/sandbox/node/solana/machine.py",
        "            self._vm.with_sigverify(True)\n",
        "            pass\n",
        (f"{_SOLANA_CHAIN}::test_signatures_are_checked",),
    ),
    Defect(
        "solana-failed-transaction-forgotten",
        "A transaction that failed and paid its fee is told as if it had never been executed.",
        "swapdesk/sandbox/node/solana/machine.py",
        " or lamports_of(self.after[:1]) < lamports_of(self.before[:1])\n",
        "\n",
        (f"{_SOLANA_CHAIN}::test_what_fails_in_a_program_pays_its_fee_and_is_recorded",),
    ),
    Defect(
        "solana-durable-nonce-taken",
        "A signature that never expires is executed at any later time.",
        _METHODS,
        "    if found.uses_durable_nonce():\n",
        "    if not found.signatures:\n",
        (f"{_SOLANA_CHAIN}::test_what_the_sandbox_does_not_execute_is_refused",),
    ),
    Defect(
        "solana-newest-block-read",
        "A deposit in a block that was read before it was complete is never seen.",
        "swapdesk/sandbox/node/solana/wallets.py",
        "        return self._chain.blocks.now().height - 1\n",
        "        return self._chain.blocks.now().height\n",
        (f"{_SOLANA_PAYMENTS}::test_deposits_are_read_in_blocks_and_counted",),
    ),
    Defect(
        "solana-payment-refused-for-ever",
        "A payout whose bytes expired unseen is given up instead of signed anew.",
        "swapdesk/sandbox/node/solana/wallets.py",
        "        if not outcome.charged and outcome.error not in (EXPIRED, REPEATED):\n",
        "        if not outcome.charged:\n",
        (f"{_SOLANA_PAYMENTS}::test_what_expired_unseen_is_signed_anew_and_executed_once",),
    ),
    Defect(
        "solana-confirmed-at-once",
        "A payment is told as final while it is in the newest block.",
        _METHODS,
        "    if depth >= FINALIZED_AFTER:\n",
        "    if depth >= 0:\n",
        (f"{_SOLANA_CHAIN}::test_commitments_lag_behind",),
    ),
    Defect(
        "solana-fees-of-others",
        "The price for an account is told from blocks in which others wrote to others.",
        _METHODS,
        "for price, written in blocks[height] if key in written), default=0)\n",
        "for price, written in blocks[height]), default=0)\n",
        (f"{_SOLANA_SHAPES}::test_the_fees_of_recent_blocks",),
    ),
    Defect(
        "solana-supply-of-no-mint",
        "What is no mint is told as one of which nothing was made.",
        _METHODS,
        '        raise bad_params("Invalid param: not a Token mint")\n',
        "        return with_context(at, token_amount(0, 0))\n",
        (f"{_SOLANA_SHAPES}::test_what_cannot_be_answered_is_told_by_its_code",),
    ),
)
