"""Defects of the chains of the sandbox: what was mined, and what a node says of it."""

from __future__ import annotations

from .defect import Defect

_EVM = "swapdesk/sandbox/node/evm"
_EVM_CHAIN = "tests/sandbox/evm/test_evm_chain.py"
_EVM_OTHER_HANDS = "tests/sandbox/evm/test_evm_against_eth_tester.py"
_SURVIVES = "tests/sandbox/test_node_process.py::test_what_its_chains_have_told_survives_it"
_BUNDLER = "tests/sandbox/evm/test_bundler.py"

EVM = (
    Defect(
        "evm-told-before-it-is-on-disk",
        "A payment that was told of is gone after the node was killed.",
        f"{_EVM}/chain.py",
        "        self._log.append(msgspec.msgpack.encode(mined))\n",
        "",
        (
            f"{_EVM_CHAIN}::test_every_block_can_be_read_as_it_was_also_after_a_start",
            _SURVIVES,
        ),
    ),
    Defect(
        "mined-log-in-the-cache-of-the-drive",
        "On macOS a payment that was told of is gone after a loss of power.",
        "swapdesk/sandbox/node/mined_log.py",
        "        fcntl.fcntl(file, FULL_FLUSH)\n",
        "        os.fsync(file)\n",
        ("tests/test_durability.py::test_a_log_waits_for_the_disk",),
    ),
    Defect(
        "evm-part-of-a-chain-after-a-start",
        "After a start the last block that was told of is missing.",
        f"{_EVM}/chain.py",
        "        for entry in entries:\n",
        "        for entry in entries[:-1]:\n",
        (f"{_EVM_CHAIN}::test_every_block_can_be_read_as_it_was_also_after_a_start",),
    ),
    Defect(
        "evm-block-of-a-full-disk-published",
        "A payment is told of that a full disk did not keep.",
        f"{_EVM}/chain.py",
        "        return self._kept([(sealed, changes)]), refused\n",
        "        self.add([(sealed, changes)])\n"
        "        return self._kept([(sealed, changes)]), refused\n",
        (f"{_EVM_CHAIN}::test_a_block_that_cannot_be_stored_is_not_published",),
    ),
    Defect(
        "evm-old-blocks-read-as-the-newest",
        "What an account held at a block is told as what it holds now.",
        f"{_EVM}/state.py",
        "        place = bisect_right(values, number, key=_NUMBER)\n",
        "        place = len(values)\n",
        (f"{_EVM_CHAIN}::test_every_block_can_be_read_as_it_was_also_after_a_start",),
    ),
    Defect(
        "evm-reverted-calls-stay",
        "A call that a contract took back has moved money all the same.",
        f"{_EVM}/state.py",
        "        while len(self._undo) > self._places[checkpoint]:\n",
        "        while len(self._undo) < self._places[checkpoint]:\n",
        (_EVM_OTHER_HANDS,),
    ),
    Defect(
        "evm-gas-by-the-newest-word",
        "A word that is written twice in one transaction costs other gas than on a real chain.",
        f"{_EVM}/state.py",
        "        self._before.setdefault(key, self.value(key))\n",
        "        self._before[key] = self.value(key)\n",
        (_EVM_OTHER_HANDS,),
    ),
    Defect(
        "evm-warm-for-ever",
        "What one transaction of a block has touched costs the next one less.",
        f"{_EVM}/state.py",
        "        self._before, self._warm, self._undo, self._places = {}, {}, [], {}\n",
        "        self._before, self._undo, self._places = {}, [], {}\n",
        (f"{_EVM_CHAIN}::test_what_is_done_in_one_block_costs_and_does_the_same_in_two",),
    ),
    Defect(
        "evm-second-of-a-block-without-the-first",
        "Two payments of one block pay from the same coins.",
        f"{_EVM}/state.py",
        "        return super().value(key) if changed is None else changed\n",
        "        return super().value(key) if key not in self._before else self.changes[key]\n",
        (f"{_EVM_CHAIN}::test_what_is_done_in_one_block_costs_and_does_the_same_in_two",),
    ),
    Defect(
        "evm-other-world-taken",
        "A data directory of other contracts and keys is opened; its balances are nobody's.",
        f"{_EVM}/chain.py",
        "    if beginning.genesis != genesis:\n",
        "    if not genesis:\n",
        (f"{_EVM_CHAIN}::test_another_world_is_refused",),
    ),
    Defect(
        "evm-older-release-forgotten",
        "The chain of an earlier release is left lying there, and a new one begins beside it.",
        f"{_EVM}/chain.py",
        '    if place.with_suffix(".db").exists():\n',
        '    if place.with_suffix(".sqlite").exists():\n',
        (f"{_EVM_CHAIN}::test_a_chain_of_another_release_is_refused",),
    ),
    Defect(
        "evm-logs-by-topic-alone",
        "Events of any contract count as those of the one that was asked for.",
        f"{_EVM}/chain.py",
        "    words = (log.address, *log.topics)\n",
        '    words = (*(wanted[0] or (b"",)), *log.topics)\n',
        (f"{_EVM_CHAIN}::test_every_block_can_be_read_as_it_was_also_after_a_start",),
    ),
    Defect(
        "evm-unconfirmed-at-rest",
        "After a payment the chain rests at once, so that it never counts.",
        f"{_EVM}/chain.py",
        "self.terms.confirmations - 1 if awaited else max(0",
        "max(0",
        (f"{_EVM_CHAIN}::test_blocks_follow_what_was_sent_and_never_run_ahead_of_the_clock",),
    ),
    Defect(
        "evm-nonce-of-the-past-taken",
        "A transaction that is used up waits in the pool for ever, and counts against its sender.",
        f"{_EVM}/mempool.py",
        "        if candidate.nonce < nonce:\n            raise",
        "        if candidate.nonce < 0:\n            raise",
        ("tests/sandbox/evm/test_evm_chain.py",),
    ),
    Defect(
        "evm-failed-payment-arrives",
        "Coins that a failed transaction did not move are credited to an order.",
        f"{_EVM}/wallets.py",
        "    if not one.succeeded:\n        return\n",
        "",
        ("tests/sandbox/evm/test_evm_chain.py",),
    ),
    Defect(
        "evm-failed-operation-pays",
        "An operation whose calls failed is credited as if it had paid.",
        f"{_EVM}/wallets.py",
        "            if outcome is not None and outcome.success:\n",
        "            if outcome is not None:\n",
        ("tests/sandbox/evm/test_evm_chain.py",),
    ),
    Defect(
        "bundler-forgets-what-it-took",
        "An operation that was taken is gone after the node was killed: its group waits for ever.",
        f"{_EVM}/bundler.py",
        "        self._log.append(msgspec.msgpack.encode(entry))\n",
        "",
        (f"{_BUNDLER}::test_one_that_was_replaced_or_executed_is_not_taken_up_again",),
    ),
    Defect(
        "bundler-silent-about-the-past",
        "What came into a block just before a kill is told to nobody afterwards.",
        f"{_EVM}/bundler.py",
        "                self._landed([operation_hash])\n",
        "                self.taken.end([operation_hash])\n",
        (f"{_BUNDLER}::test_what_was_taken_is_executed_once_after_a_restart",),
    ),
    Defect(
        "bundler-takes-up-the-replaced",
        "After a restart an operation is executed that a dearer one has taken the place of.",
        f"{_EVM}/bundler.py",
        "        gone = [] if replaced is None else [(replaced, None)]\n",
        "        gone: list[tuple[bytes, None]] = []\n",
        (f"{_BUNDLER}::test_one_that_was_replaced_or_executed_is_not_taken_up_again",),
    ),
)

_CHAIN = "swapdesk/sandbox/node/solana/chain.py"
_METHODS = "swapdesk/sandbox/node/solana/methods.py"
_SOLANA_CHAIN = "tests/sandbox/solana/test_solana_chain.py"
_SOLANA_SHAPES = "tests/sandbox/solana/test_solana_chain.py"
_SOLANA_PAYMENTS = "tests/sandbox/test_chain_books.py"

SOLANA = (
    Defect(
        "solana-answered-before-it-is-on-disk",
        "A transaction that was answered is gone after the node was killed.",
        _CHAIN,
        "            self._log.append(msgspec.msgpack.encode(mined))\n",
        "            pass\n",
        (
            f"{_SOLANA_CHAIN}::test_a_transfer_is_executed_kept_over_a_restart_and_never_repeated",
            _SURVIVES,
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
            "tests/sandbox/solana/test_solana_chain.py"
            "::test_a_blockhash_is_good_for_150_blocks_from_its_own_on",
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
        "swapdesk/sandbox/node/solana/node.py",
        "        return self._chain.blocks.now().height - 1\n",
        "        return self._chain.blocks.now().height\n",
        (f"{_SOLANA_PAYMENTS}::test_deposits_are_read_in_blocks_and_counted",),
    ),
    Defect(
        "solana-payment-refused-for-ever",
        "A payout whose bytes expired unseen is given up instead of signed anew.",
        "swapdesk/sandbox/node/solana/node.py",
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
