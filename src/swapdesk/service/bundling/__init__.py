"""Payments of a group bundled into UserOperations: built, handed in, and looked for.

``bundler`` is what the rest of the service may ask; ``planning`` and ``node_bundler`` do it over
a node that answers the bundler's JSON-RPC beside the chain's. Whether a bundle may be handed in
is decided by whoever keeps it, by compare-and-set; handing the same one in again is harmless.
"""
