"""The contracts of the embedded EVM chains: Vyper sources and compiled artefacts, which block 0 of
a chain has at fixed addresses. ``python -m swapdesk.sandbox.contracts.build`` compiles changed
sources."""
