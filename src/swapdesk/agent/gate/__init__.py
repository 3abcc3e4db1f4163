"""The gate: the rules that every payload has to pass before it is signed. The rules read no clock,
no chain and no file.

``case`` has everything that a rule may look at: the claim (what the payload does), the promise
(what the trader confirmed), what the profile allows, the facts read from the chain in one batch,
and what was signed earlier under the same intent. ``verdict`` lists every rule by subject and
judges a payload. Its result has the findings, a line for each field for the screen, and the phrase
that has to be typed.

If anything that a rule needs is missing, the gate refuses. A field agrees with the promise only if
some rule compares it with the promise and does not object. The words for fields are in
``field_words``.

``Taking`` is used to add up the most that several signatures under one intent can take. An
allowance, and what a contract takes out of that allowance, count once. Payloads with the same nonce
also count once. If the sum is more than was confirmed, the gate refuses (``ALLOWANCE_SUM``).

A new rule needs a function with its code, its severity and the meanings of the fields that it
compares. It also needs an entry in the list of its module, and tests on both sides of its bound in
``tests/agent/test_gate_rules.py``. ``tests/agent/mutations.py`` makes dishonest payloads out of
honest ones; the gate has to refuse each.
"""
