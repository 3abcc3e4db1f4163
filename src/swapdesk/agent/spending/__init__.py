"""The user's spending policy: the limit on what may leave by everything that is signed here.

``limits`` determines what can leave because of a payload (coins, tokens, allowances, gas). It adds
what was counted earlier and checks the sum against the policy. Like the gate, it uses no clock,
chain or file. ``policy_file`` stores the policy, sealed by the pass phrase. The count is in
``transactions``: it is written together with the signature, before the signature is given out.
"""
