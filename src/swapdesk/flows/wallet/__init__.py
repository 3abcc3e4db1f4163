"""The wallet of a profile: its agent, and what its owner does with it besides orders.
``local_wallet`` is the agent, its accounts and their balances, each chain asked separately;
``wallet_reading`` reports them as chains answer."""
