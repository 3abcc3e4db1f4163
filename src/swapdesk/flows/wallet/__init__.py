"""The wallet of a profile: its agent, and what its owner does with it apart from orders.

``local_wallet`` has the agent, the accounts and their balances, with one request for each chain.
``wallet_reading`` reports the balances as the chains answer.
"""
