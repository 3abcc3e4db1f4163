"""Defects of the process with the keys: what it signs, and what it remembers."""

from __future__ import annotations

from .defect import Defect

SIGNING = (
    Defect(
        "debugger-of-the-keys",
        "On macOS a program of the same user reads the keys out of the agent's memory.",
        "swapdesk/agent/process/confinement.py",
        "ptrace(_PT_DENY_ATTACH, 0, None, 0) != 0:",
        "ptrace(_PT_DENY_ATTACH, 0, None, 0) is None:",
        ("tests/wallet/test_agent_process.py::test_no_debugger_on_macos_or_no_agent",),
    ),
    Defect(
        "open-way-to-the-keys",
        "A program of the same user has an unlocked wallet pay it, as if the desk had asked.",
        "swapdesk/wallet/client.py",
        """                    stdin=asked.fileno(),
                )
            except OSError as error:
                raise AgentMissing(f"the wallet agent could not be started: {error}") from None
            agent = cls(process, *await _streams(asking.dup(), hearing.dup()), on_locked)
""",
        """                    stdin=asyncio.subprocess.PIPE,
                )
            except OSError as error:
                raise AgentMissing(f"the wallet agent could not be started: {error}") from None
            _, heard = await _streams(asking.dup(), hearing.dup())
            agent = cls(process, process.stdin, heard, on_locked)
""",
        (
            "tests/wallet/test_agent_process.py"
            "::test_no_other_process_of_the_user_speaks_for_the_desk",
        ),
    ),
    Defect(
        "any-certificate",
        "Behind a company's proxy any server is taken for the service or a node.",
        "swapdesk/certificates.py",
        "        context.load_verify_locations(cafile=file)\n",
        "        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE\n",
        ("tests/test_http_clients.py::test_a_server_is_trusted_by_the_chosen_file_alone",),
    ),
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
        "withdrawal-signed-after-a-no",
        "Who refuses a withdrawal on the page that signs has signed it.",
        "swapdesk/flows/signing/wallet_signing.py",
        "            if await session.look(step.review) is None:\n",
        "            if await session.look(step.review) is False:\n",
        (
            "tests/wallet/test_withdrawing.py"
            "::test_the_page_that_signs_makes_the_account_and_takes_back_what_it_holds",
        ),
    ),
    Defect(
        "decimals-of-the-list",
        "A service that names other decimals gets a thousand dollars for a confirmed ten.",
        "swapdesk/agent/gate/rules/amounts.py",
        "    decimals = None if words is None else words[0]\n",
        "    decimals = asset.decimals\n",
        (
            "tests/agent/test_token_decimals.py::test_no_payload_is_signed_by_decimals_of_a_list",
            "tests/agent/test_hostile_service.py",
        ),
    ),
    Defect(
        "coin-under-a-symbol",
        "A list that names no contract for PEPE has ten ether paid for ten of it.",
        "swapdesk/agent/gate/rules/amounts.py",
        "        if asset.symbol.upper() in names:",
        "        if names:",
        (
            "tests/agent/test_token_decimals.py"
            "::test_a_token_of_another_name_is_signed_by_a_phrase_alone",
        ),
    ),
    Defect(
        "balance-by-a-list",
        "The wallet shows 30 of 3,000 dollars, and somebody pays the rest by mistake.",
        "swapdesk/agent/process/chain_handlers.py",
        "    return Balance(replace(asset, decimals=decimals), units)\n",
        "    return Balance(asset, units)\n",
        ("tests/agent/test_token_decimals.py::test_a_list_that_says_otherwise_changes_no_amount",),
    ),
    Defect(
        "bought-decimals-of-the-list",
        "A swap pays out a hundredth of what was confirmed.",
        "swapdesk/agent/gate/case.py",
        "        here.append(promise.buy)",
        "        here.append(promise.sell)",
        (
            "tests/agent/test_token_decimals.py"
            "::test_the_least_that_arrives_is_counted_as_its_contract_does",
        ),
    ),
    Defect(
        "policy-sealed-by-a-list",
        "A limit of one dollar is sealed as a limit of a billion of them.",
        "swapdesk/agent/process/handlers.py",
        "    if decimals != token.decimals:",
        "    if decimals is token:",
        ("tests/wallet/test_spending_policy.py::test_a_policy_counts_as_the_contract_does",),
    ),
    Defect(
        "policy-counts-as-sealed",
        "A limit that an earlier release sealed by a list stops nothing.",
        "swapdesk/agent/spending/limits.py",
        "        and decimals.get(key, token.decimals) != token.decimals",
        "        and decimals is counted_by",
        (
            "tests/wallet/test_spending_policy.py"
            "::test_a_policy_of_an_earlier_release_lets_nothing_be_miscounted",
        ),
    ),
    Defect(
        "chain-id-ignored",
        "A signature for another chain is given, and money leaves there.",
        "swapdesk/agent/gate/rules/envelope.py",
        "elif claim.chain_id is not None and claim.chain_id != promised:",
        "elif claim.chain_id is None and claim.chain_id != promised:",
        ("tests/agent/test_gate_rules.py::test_a_chain_that_is_not_the_same_everywhere_is_marked",),
    ),
    Defect(
        "recipient-of-the-payload",
        "The recipient is compared with itself, so that a swap may pay anybody.",
        "swapdesk/agent/gate/rules/parties.py",
        "        if receiver != case.promise.recipient:",
        "        if receiver != receivers[0][1]:",
        ("tests/agent/test_gate_rules.py::test_a_rule_objects_on_one_side_of_its_bound_alone",),
    ),
    Defect(
        "sum-of-signatures-uncounted",
        "Several signatures for one swap let more be taken than was confirmed.",
        "swapdesk/agent/gate/rules/steps.py",
        "    taken = most_taken([*earlier, (once, own)])\n",
        "    taken = most_taken([(once, own)])\n",
        ("tests/agent/test_gate_rules.py::test_two_orders_of_one_swap_are_never_both_signed",),
    ),
    Defect(
        "gas-bound-per-unit",
        "A transaction is signed whose fee is far above what was confirmed.",
        "swapdesk/agent/gate/rules/amounts.py",
        "    elif facts.gas.most > bound:",
        "    elif facts.gas.fee > bound:",
        ("tests/agent/test_gate_rules.py::test_a_rule_objects_on_one_side_of_its_bound_alone",),
    ),
    Defect(
        "deposit-of-any-larger-amount",
        "A deposit larger than the order asks for is signed, and the rest is held.",
        "swapdesk/agent/gate/rules/deposit.py",
        "        if units != deposit.units:",
        "        if units < deposit.units:",
        (
            "tests/agent/test_gate_mutations.py::test_no_dishonest_transaction_on_solana_is_let_through",
        ),
    ),
    Defect(
        "nonce-given-twice",
        "A node that is behind has a nonce signed twice: a payment replaces another one.",
        "swapdesk/agent/transactions/records.py",
        "return of_node if last is None else max(of_node, last + 1)",
        "return of_node",
        (
            "tests/agent/test_records.py"
            "::test_nonces_follow_each_other_also_when_the_node_is_behind",
        ),
    ),
    Defect(
        "sent-payment-given-up",
        "A payment that a node has is given up, and the same is signed and paid once more.",
        "swapdesk/agent/process/chain_handlers.py",
        'State.REFUSED, "ABANDONED", among=(State.PREPARED,)',
        'State.REFUSED, "ABANDONED", among=(State.PREPARED, State.SENT)',
        ("tests/wallet/test_signing.py::test_a_receipt_of_what_is_not_mined_is_not_believed",),
    ),
    Defect(
        "chain-never-known",
        "A node of another chain of the same id has signed what was signed for once.",
        "swapdesk/agent/process/payload_assessment.py",
        '            genesis_hash=self._records.genesis(link.name) or "",\n',
        '            genesis_hash="",\n',
        ("tests/wallet/test_live_profile.py::test_it_signs_after_its_pass_phrase_and_pays",),
    ),
    Defect(
        "forged-receipt-believed",
        "A node tells a failure of what was paid, and the same is signed and paid once more.",
        "swapdesk/agent/transactions/delivery.py",
        "        problem = await self._contradiction(transaction, receipt)\n",
        "        problem: str | None = None\n",
        ("tests/wallet/test_signing.py::test_a_forged_failure_ends_nothing",),
    ),
    Defect(
        "forgotten-transaction-left",
        "A payment that a node forgot is never sent again, and its order expires unpaid.",
        "swapdesk/agent/transactions/delivery.py",
        "        await self.send(self._found(kept))\n        return self._found(transaction)\n",
        "        return self._found(transaction)\n",
        ("tests/wallet/test_signing.py::test_a_receipt_of_what_is_not_mined_is_not_believed",),
    ),
    Defect(
        "old-blockhash-signed",
        "A transaction is signed that may end unexecuted, and its order expires unpaid.",
        "swapdesk/agent/gate/rules/envelope.py",
        "    elif left < LEAST_BLOCKS:",
        "    elif left < 0:",
        ("tests/agent/test_gate_rules.py::test_a_rule_objects_on_one_side_of_its_bound_alone",),
    ),
    Defect(
        "last-valid-height-ignored",
        "A payment that may still be executed is given up, signed anew and paid twice.",
        "swapdesk/agent/transactions/delivery.py",
        "        if expired and height > (transaction.last_valid_height or 0):",
        "        if expired:",
        ("tests/agent/test_records.py::test_what_may_still_be_executed_is_not_lost",),
    ),
    Defect(
        "given-up-leaves",
        "A payment that was given up leaves all the same, beside the one signed in its place.",
        "swapdesk/agent/transactions/delivery.py",
        "        # Committed before a byte leaves: after a crash here it may be on its way. What"
        " was given up\n"
        "        # while this request waited for its turn stays where it is.\n"
        "        if not self._records.move(transaction.hash, State.UNKNOWN, mined=False):\n"
        "            return self._found(transaction)\n",
        "        self._records.move(transaction.hash, State.UNKNOWN, mined=False)\n",
        (
            "tests/agent/test_records.py"
            "::test_what_was_given_up_while_it_waited_to_be_sent_does_not_leave",
        ),
    ),
    Defect(
        "signature-not-remembered",
        "A permit leaves that no record counts, and more is signed beside it.",
        "swapdesk/agent/process/signing.py",
        "        # Recorded before it leaves: whatever may have left is counted.\n"
        "        self._records.write_given(\n"
        "            subject.promise.intent_id, given, self._clock.now(), looked.spending, call\n"
        "        )\n",
        "",
        ("tests/wallet/test_signing.py::test_what_was_counted_survives_a_kill",),
    ),
    Defect(
        "open-key-file",
        "A key file that every user of the machine can read is used without a word.",
        "swapdesk/paths.py",
        'if os.name == "posix" and status.st_mode & _OTHERS:',
        'if os.name == "posix" and directory and status.st_mode & _OTHERS:',
        (
            "tests/wallet/test_agent_process.py::test_loose_files_links_and_strangers_are_not_opened",
        ),
    ),
    Defect(
        "withdrawal-to-somebody-else",
        "What is taken out of the smart account goes to whoever the payload names.",
        "swapdesk/agent/gate/rules/deposit.py",
        "        if payee != case.policy.account:",
        "        if payee == case.claim.contract:",
        ("tests/agent/test_gate_bundle.py::test_what_a_rule_objects_to",),
    ),
    Defect(
        "policy-counts-nothing",
        "A spending policy stops no sum of payments.",
        "swapdesk/agent/transactions/records.py",
        "            count(connection, spending, when)\n            if not signed:",
        "            if not signed:",
        ("tests/wallet/test_spending_policy.py::test_the_eleventh_of_ten_payments_is_stopped",),
    ),
    Defect(
        "policy-clock-set-back",
        "A clock that is set back frees room of the spending policy.",
        "swapdesk/agent/transactions/file.py",
        "            now = max(now, seen + timedelta(seconds=ticked - at))",
        "            now = max(now, now + timedelta(seconds=at - ticked))",
        ("tests/agent/test_spending_limits.py::test_no_total_exceeds_its_limit",),
    ),
    Defect(
        "policy-raised-without-pass-phrase",
        "Whoever has the desk raises a limit.",
        "swapdesk/wallet/spending.py",
        "limits[limit.key] > limit.exact",
        "limits[limit.key] < 0",
        ("tests/wallet/test_spending_policy.py::test_only_the_pass_phrase_raises",),
    ),
    Defect(
        "policy-seal-unchecked",
        "A policy that somebody else sealed is taken for the person's own.",
        "swapdesk/agent/spending/policy_file.py",
        "        if held.sealed != self._opened:",
        "        if not held.sealed:",
        ("tests/wallet/test_spending_policy.py::test_a_seal_of_somebody_else_stops_everything",),
    ),
    Defect(
        "answer-of-a-node-decompressed",
        "A node fills the memory of the process with the keys with a few bytes.",
        "swapdesk/chain/node_http.py",
        "in answer.aiter_raw():",
        "in answer.aiter_bytes():",
        ("tests/chain/test_node_http.py",),
    ),
    Defect(
        "lost-broadcast-told-as-unsent",
        "A transaction that may be on its way is told as not sent.",
        "swapdesk/chain/node_http.py",
        'raise NodeUncertain(f"the node gave no answer',
        'raise NodeUnreachable(f"the node gave no answer',
        (
            "tests/sandbox/evm/test_evm_door.py"
            "::test_no_usable_answer_leaves_a_transaction_uncertain",
        ),
    ),
    Defect(
        "answer-to-another-question",
        "What a node says to another question is read as the answer to this one.",
        "swapdesk/chain/node_http.py",
        ' or document.get("id") != number',
        "",
        ("tests/chain/test_node_http.py",),
    ),
    Defect(
        "price-of-a-call-unbounded",
        "A service takes what it likes for one read.",
        "swapdesk/agent/spending/limits.py",
        "elif spend.units > most_units(tier):",
        "elif spend.units < most_units(PriceTier.FREE) // 1_000_000:",
        ("tests/agent/test_spending_limits.py::test_a_call_costs_ten_times_the_contract_at_most",),
    ),
    Defect(
        "bound-of-a-call-ended-without-pass-phrase",
        "Whoever has the desk lets a service take what it likes for a call.",
        "swapdesk/wallet/spending.py",
        "limit.window is SpendWindow.CALL and limit.key not in keys",
        "limit.window is SpendWindow.CALL and limit.key in keys",
        (
            "tests/agent/test_spending_limits.py"
            "::test_a_policy_is_raised_by_whatever_lets_more_through",
        ),
    ),
    Defect(
        "new-payee-of-calls-unasked",
        "A service that was taken over is paid in the place of the one that was agreed to.",
        "swapdesk/agent/gate/rules/deposit.py",
        "payee) not in case.policy.calls:",
        "payee) not in (*case.policy.calls, (case.claim.chain_id, flow.token, payee)):",
        ("tests/agent/test_gate_rules.py::test_a_rule_objects_on_one_side_of_its_bound_alone",),
    ),
    Defect(
        "second-look-not-judged",
        "What a node says after the review is signed for, whatever the gate thinks of it.",
        "swapdesk/agent/process/signing.py",
        "        require_agreement(seen, looked)\n",
        "",
        (
            "tests/wallet/test_live_profile.py"
            "::test_a_node_that_changes_its_chain_after_the_review_gets_nothing_signed",
            "tests/wallet/test_signing.py::test_two_reviews_at_once_give_one_signature",
        ),
    ),
    Defect(
        "operation-not-remembered",
        "A group is signed for once more after it was paid.",
        "swapdesk/agent/process/signing.py",
        "        self._records.write_given(\n",
        "        isinstance(payload, TypedDataPayload) and self._records.write_given(\n",
        (
            "tests/wallet/test_signing.py"
            "::test_a_group_is_signed_for_again_only_where_one_of_both_can_land",
        ),
    ),
    Defect(
        "payload-of-another-chain",
        "A payload of one kind of chain is judged and signed for an account of another.",
        "swapdesk/agent/process/signing.py",
        "        if isinstance(payload, SolanaPayload) is not (account.kind is Kind.SOLANA):\n",
        "        if isinstance(payload, SolanaPayload) and account.kind is not Kind.SOLANA:\n",
        ("tests/wallet/test_solana_deposits.py::test_what_the_gate_refuses_is_never_signed",),
    ),
    Defect(
        "phrase-unasked",
        "What asks for a typed phrase, a token under another name, is signed without it.",
        "swapdesk/agent/process/signing.py",
        "        if review.phrase is not None and phrase != review.phrase:\n",
        "        if review is None:\n",
        ("tests/wallet/test_signing.py::test_what_asks_for_a_phrase_is_signed_by_it_alone",),
    ),
    Defect(
        "last-valid-height-of-the-confirmed",
        "A payment is given up while a newer block still takes it, signed anew and paid twice.",
        "swapdesk/agent/process/payload_assessment.py",
        "last_valid=max(newest.last_height, tip + LIFETIME)",
        "last_valid=newest.last_height",
        (
            "tests/agent/test_records.py"
            "::test_a_payment_may_be_executed_until_the_newest_block_forgets_its_blockhash",
        ),
    ),
    Defect(
        "signed-before-is-forgotten",
        "What was signed for a payment before does not count, and one confirmation is paid twice.",
        "swapdesk/agent/process/payload_assessment.py",
        "        memory = self._records.given(promise.intent_id)\n",
        "        memory = ()\n",
        (
            "tests/wallet/test_signing.py"
            "::test_a_group_is_signed_for_again_only_where_one_of_both_can_land",
        ),
    ),
    Defect(
        "bought-by-a-name",
        "What arrives is counted by a chain of the promised name and of another id.",
        "swapdesk/agent/process/payload_assessment.py",
        "self._chains.known(promise.chain_out, promise.chain_out_id)",
        "self._chains._links.get(promise.chain_out)",
        ("tests/wallet/test_signing.py::test_what_arrives_on_another_chain_is_counted_there",),
    ),
    Defect(
        "higher-fee-without-a-bound",
        "A higher fee costs more gas than anybody agreed to.",
        "swapdesk/agent/process/signing.py",
        "gas_units=max(promise.gas_units, gas_units)",
        "gas_units=1 << 100",
        ("tests/wallet/test_replacing.py::test_no_more_is_paid_for_gas_than_somebody_agreed_to",),
    ),
    Defect(
        "dearer-one-forgotten",
        "A node forgets the higher fee, and the payment waits for the first one again.",
        "swapdesk/agent/transactions/delivery.py",
        "kept = self._records.outbidding(transaction) or transaction",
        "kept = transaction",
        ("tests/wallet/test_replacing.py::test_whoever_follows_the_first_keeps_the_dearest_alive",),
    ),
    Defect(
        "withdrawal-to-the-entry-point",
        "The coins of a smart account are paid to a contract that keeps them.",
        "swapdesk/agent/process/chain_handlers.py",
        "            InnerCall(owner, payment.units)\n",
        "            InnerCall(ENTRY_POINT, payment.units)\n",
        ("tests/wallet/test_withdrawing.py",),
    ),
    Defect(
        "second-look-warns",
        "What has come to be doubted since the review, or asks for words now, is signed all the"
        " same.",
        "swapdesk/agent/process/signing.py",
        "    if new or verdict.phrase != seen.verdict.phrase:\n",
        "    if new is None:\n",
        ("tests/agent/test_second_look.py",),
    ),
    Defect(
        "second-look-at-another-content",
        "Something else is signed than was reviewed.",
        "swapdesk/agent/process/signing.py",
        "    if not verdict.digest or verdict.digest != seen.verdict.digest:\n",
        "    if not verdict.digest:\n",
        ("tests/agent/test_second_look.py",),
    ),
    Defect(
        "second-look-at-a-higher-price",
        "A transaction is signed for a price of gas at which no block takes it.",
        "swapdesk/agent/process/signing.py",
        "(looked.facts.base_fee or 0) > looked.plan.max_fee:",
        "(looked.facts.base_fee or 0) < 0:",
        ("tests/agent/test_second_look.py",),
    ),
    Defect(
        "taken-on-as-unsent",
        "What an earlier release may have sent is given up, and the same is signed once more.",
        "swapdesk/agent/transactions/file.py",
        "WHEN 'sending' THEN 'unknown'",
        "WHEN 'sending' THEN 'prepared'",
        ("tests/agent/test_records.py::test_a_file_of_an_earlier_release_is_taken_on",),
    ),
    Defect(
        "earlier-release-read-once",
        "A desk that only reads shows a payment as waiting that counts long since.",
        "swapdesk/agent/transactions/file.py",
        "if self._copy is None or commits != self._copied:",
        "if self._copy is None:",
        ("tests/agent/test_records.py::test_a_file_of_an_earlier_release_is_taken_on",),
    ),
    Defect(
        "unheard-is-on-its-way",
        "A payment of which no byte left cannot be given up any more.",
        "swapdesk/agent/transactions/delivery.py",
        "self._note(transaction, str(error), State.PREPARED if first else State.UNKNOWN)",
        "self._note(transaction, str(error))",
        ("tests/agent/test_records.py::test_what_no_node_heard_of_is_where_it_was",),
    ),
    Defect(
        "imported-key-on-real-ids",
        "A key that was imported into the sandbox, and holds money outside, is asked to sign for"
        " a chain of a real id.",
        "swapdesk/agent/process/signing.py",
        "        refuse_foreign_chain(account, link, looked.facts.genesis_hash)\n",
        "",
        (
            "tests/wallet/test_live_profile.py"
            "::test_an_imported_key_of_the_sandbox_is_not_shown_what_real_ids_would_execute",
        ),
    ),
    Defect(
        "lock-keeps-reviews",
        "What was reviewed before the wallet was locked is signed after it.",
        "swapdesk/agent/process/wallet_session.py",
        "            self._reviewing.forget()\n",
        "            pass\n",
        (
            "tests/wallet/test_signing.py"
            "::test_a_review_is_for_one_digest_once_and_for_unlocked_keys",
        ),
    ),
    Defect(
        "third-signature-missing",
        "On Solana a swap is signed that one of two makers has not: it may be filled in later.",
        "swapdesk/agent/shapes/solana.py",
        "        if signature.verify(key, signed):\n            yield str(key)\n",
        "        if signature.verify(key, signed):\n            yield from map(str, signers)\n",
        ("tests/agent/test_gate_rules.py::test_each_maker_that_has_to_sign_has_signed",),
    ),
    Defect(
        "ended-allowance-told",
        "An allowance of Permit2 that has ended is shown as standing, and gas is paid to end it.",
        "swapdesk/agent/process/chain_handlers.py",
        "elif words[0] and not (pair.granted and words[1] < head.timestamp):",
        "elif words[0]:",
        ("tests/wallet/test_signing.py::test_an_allowance_of_permit2_that_has_ended_is_not_told",),
    ),
)
