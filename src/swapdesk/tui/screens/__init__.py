"""One screen a name: ``NAME`` composes and binds, ``NAME_view`` draws, ``NAME_facts`` is pure."""
