"""The pages of the desk, one module for each: its class, then the pure functions that make its
rows."""
