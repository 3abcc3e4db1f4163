"""Defects of the sandbox around its chains: the exchanges' books, faults, the server."""

from __future__ import annotations

from .defect import Defect

BOUNDS = "tests/sandbox/test_http_bounds.py"
PORTS = "tests/sandbox/test_service_port.py"

BOOKS: tuple[Defect, ...] = ()

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
        ("tests/agent/test_gate_solana.py::test_a_blockhash_has_to_live_a_little_longer",),
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
        "swapdesk/service/venues/onchain/fathom.py",
        "        if permit is None:\n            raise DexRefused",
        "        if permit is NO_SIGNATURE:\n            raise DexRefused",
        ("tests/service/dex/test_fathom.py",),
    ),
)

FAULTS: tuple[Defect, ...] = (
    Defect(
        "practice-on-a-live-profile",
        "Practice cases create orders at a service with real money.",
        "swapdesk/flows/faults/triggers.py",
        "        if desk.settings.live or control is None:\n",
        "        if control is None:\n",
        ("tests/cli/test_trigger.py::test_live_profile_has_no_faults",),
    ),
    Defect(
        "hold-that-nobody-ends",
        "What an exchange holds stays there for ever, though its hold was released.",
        "swapdesk/sandbox/node/order_faults.py",
        "        for row in begun:\n            self._go_on(row)\n",
        "        for row in begun[:0]:\n            self._go_on(row)\n",
        ("tests/sandbox/test_node_terms.py::test_a_hold_lasts_until_it_is_released",),
    ),
    Defect(
        "fallback-by-the-same-wallet",
        "A payout that failed is paid again by the wallet that cannot pay.",
        "swapdesk/sandbox/node/order_faults.py",
        "        return 1 if FALLBACK in faults_of(row) else 0\n",
        "        return 0 if FALLBACK in faults_of(row) else 0\n",
        ("tests/sandbox/test_node_terms.py::test_a_fallback_is_paid_from_another_wallet",),
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
        "swapdesk/sandbox/answer_faults.py",
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
        ("tests/sandbox/test_node_process.py::test_strangers_are_refused",),
    ),
    Defect(
        "control-for-another-site",
        "A page of any site reaches the node and the control of whoever visits it.",
        "swapdesk/sandbox/http_server.py",
        "    if origin is not None and not _served(origin, hosts):\n",
        "    if origin is not None and not origin:\n",
        ("tests/sandbox/test_node_process.py::test_strangers_are_refused",),
    ),
)
