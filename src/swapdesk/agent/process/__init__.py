"""The process with the keys: how it isolates itself, reads the desk's requests and answers them.

``confinement`` runs before every other import and closes the process's memory to others.
``service`` has the pipe to the desk and the list of possible requests. The pipe carries frames of a
JSON head and raw secrets, so that a pass phrase never becomes a Python string.

The answers are in ``handlers``. ``wallet_session`` is the wallet of a profile. It imports the code
for signing in a thread while the user types the pass phrase. One process holds the lock of a key
directory; another process on the same keys can only read.

``wallet`` has the open keys. ``signing`` turns a payload into a review and a review into a
signature; ``payload_assessment`` reads the chain and applies the gate. A signature needs a review's
id and digest. The payload is assessed again, and signed only if chain and gate give the same
result.
"""
