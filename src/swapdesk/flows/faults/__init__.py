"""What goes wrong on purpose: faults and the clock of a sandbox, and orders to practise on.

``triggers`` sets one fault on an order, a provider or a chain. ``scenario_file`` reads files of
cases, of which ``practice.toml`` comes with swapdesk and ``practice.answers.toml`` has its answers;
``scenario`` plays them. Command and screen only show what these three say.
"""
