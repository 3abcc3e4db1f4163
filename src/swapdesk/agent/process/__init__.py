"""The process with the keys: how it shuts itself off, hears the desk and answers it.

``confinement`` comes before every other import and closes the memory to others. ``pipe`` carries
frames of a JSON head and raw secrets, so that a pass phrase never becomes a text. ``service`` has
the table of what may be asked, with the answers in ``key_requests``, ``signing_requests``,
``deliveries`` and ``chain_requests``.

``opened`` is the wallet of a profile: what signs is imported there, by one thread, while the pass
phrase is typed. One process holds the lock of a key directory; another one on the same keys only
looks. ``wallet`` are the keys that are open.

``reviewing`` is the way from a payload to a review to a signature: ``looking`` reads chain and
gate, and a signature takes a review's id and digest, looks once more, and goes on only when chain
and gate say the same. ``signing`` writes down and signs.
"""
