"""The person's spending policy: what may leave by everything that is signed here.

``limits`` reads from a claim what its payload lets leave (coins, tokens, allowances, gas) and holds
that, with what was counted before, against the policy. It is pure, as the gate is. ``policy_file``
keeps the policy, sealed by the pass phrase. The count is in ``transactions``: it is written with
what was signed, before that leaves.
"""
