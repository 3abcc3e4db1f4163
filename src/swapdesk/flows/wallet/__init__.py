"""The wallet of a profile: its agent, and what its owner does with it besides orders.

``local_wallet`` is the agent, its accounts, and what those have on chains, asked of each by itself;
``wallet_reading`` tells it while they answer.
"""
