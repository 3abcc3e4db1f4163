"""The rules that every payload passes before it is signed. Pure: no clock, no chain, no file.

``case`` is all that a rule may look at: the claim, what the trader confirmed (promise), what the
profile allows, the facts that were read for the claim as one batch, and what was signed under the
same intent. ``verdict`` lists every rule by subject and judges a payload: findings, the lines for
the screen and what has to be typed. What is missing refuses.

A line says that a field agrees with what was promised only where a rule binds its meaning and
had nothing to object; the words are ``field_words``.
``Taking`` adds up what several signatures under one intent let be taken: what a contract is
allowed and what it takes out of it count once, as do payloads with one nonce. More than was
confirmed is refused (``ALLOWANCE_SUM``).

A new rule is a function with its code, severity and the meanings it binds, its entry in
the list of its module, and its row in ``tests/agent/test_gate_rules.py`` on both sides of its
bound. ``tests/agent/mutations.py`` makes dishonest payloads out of honest ones; none may pass.
"""
