"""The gate: the rules that every payload has to pass before it is signed. They use no clock, no
chain and no file.

``case`` is all that a rule may look at: the claim (what the payload does), the promise (what the
trader confirmed), what the profile allows, the facts read from the chain in one batch, and what was
signed under the same intent. ``verdict`` lists every rule by subject and judges a payload:
findings, the lines for the screen and what has to be typed.

If anything needed is missing, the gate refuses. A line says that a field agrees with the promise
only if a rule binds the field's meaning and has no objection. The words are in ``field_words``.
``Taking`` adds up the most that several signatures under one intent can take. What a contract is
allowed and what it takes out of that allowance count once, as do payloads with one nonce. More than
was confirmed is refused (``ALLOWANCE_SUM``).

A new rule needs a function with its code, severity and the meanings it binds, an entry in the list
of its module, and a row in ``tests/agent/test_gate_rules.py`` on both sides of its bound.
``tests/agent/mutations.py`` makes dishonest payloads out of honest ones; the gate has to refuse
each.
"""
