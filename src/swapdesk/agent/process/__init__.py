"""The process with the keys: how it shuts itself off, hears the desk and answers it.

``confinement`` comes before every other import and closes the memory to others. ``service`` has
the pipe, which carries frames of a JSON head and raw secrets, so that a pass phrase never becomes
a text, and the table of what may be asked. Answers are in ``handlers``.

``wallet_session`` is the wallet of a profile: what signs is imported there, by one thread, while
the pass phrase is typed. One process holds the lock of a key directory; another one on the same
keys only looks. ``wallet`` are the keys that are open.

``signing`` is the way from a payload to a review to a signature: ``payload_assessment`` reads chain
and gate. A signature takes a review's id and digest, assesses once more, and goes on only when
chain and gate say the same.
"""
