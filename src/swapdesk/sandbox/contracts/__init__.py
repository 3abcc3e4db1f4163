"""The contracts of the embedded EVM chains: Vyper sources and their compiled artefacts.

The genesis block (block 0) of a chain has their runtime code at fixed addresses, together with the
storage that a constructor would write. ``artefact`` reads the compiled files and says where a
variable is stored. ``python -m swapdesk.sandbox.contracts.build`` compiles the sources again after
a change.
"""
