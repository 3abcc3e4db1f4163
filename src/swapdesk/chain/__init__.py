"""What this program knows about chains: addresses, contracts, calls, and clients of their nodes.

The desk uses ``addresses`` and ``typed_data``, which do no I/O. ``node_http`` sends requests to
nodes; the clients in ``rpc`` and the desk's look-ups use it. Everything else is for the wallet
agent, the service and the sandbox. ``deployments`` lists contracts by their address.
``unused_curve`` keeps a curve that is never used from slowing the start of a process.
"""
