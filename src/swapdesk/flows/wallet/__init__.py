"""The wallet of a profile: its agent, and what its owner does with it besides orders."""
