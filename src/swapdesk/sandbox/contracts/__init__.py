"""The contracts of the embedded EVM chains: Vyper sources and what they compile to.

Genesis puts the runtime code at fixed addresses and writes the storage that a constructor
would; ``artefact`` reads the compiled files and says where a variable lies, and
``python -m swapdesk.sandbox.contracts.build`` compiles anew after a source has changed.
"""
