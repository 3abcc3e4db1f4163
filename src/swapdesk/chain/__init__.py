"""What is known of chains without asking a service: addresses, contracts, calls, their nodes.

``addresses`` and ``typed_data`` are pure and what the desk uses. ``node_http`` asks nodes, for the
clients of ``rpc`` and for what the desk looks up. Everything else belongs to the wallet agent, the
service and the sandbox. ``deployments`` are contracts known by their address; ``unused_curve``
keeps a curve that no key of ours is on out of the start of a process.
"""
