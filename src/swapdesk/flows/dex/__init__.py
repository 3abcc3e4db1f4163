"""A swap on chains, step by step, each journaled before what it does."""
