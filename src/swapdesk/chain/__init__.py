"""Knowledge of chains: addresses, contracts, calls, and clients of their nodes.

The desk uses ``addresses`` and ``typed_data``, which do no I/O. ``node_http`` sends requests to
nodes, for the clients in ``rpc`` and for what the desk looks up. The wallet agent, the service and
the sandbox use everything else. ``deployments`` lists contracts that are known by their address;
``unused_curve`` keeps an unneeded curve from slowing the start of a process.
"""
