"""The person's spending policy: what may leave by everything that is signed here.

``outflows`` tells what a payload lets leave: coins, tokens, allowances and gas. ``limits`` holds
that, and what was counted before, against the policy; pure as the gate is. ``policy_file`` keeps
the policy, sealed by the pass phrase. The count is in ``transactions``, written with what was
signed and before it leaves.
"""
