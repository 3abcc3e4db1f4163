"""``python -m benchmarks [start] [keys] [--rounds N] [--keys N] [--strict]``"""

from __future__ import annotations

import argparse
import sys

from benchmarks import keys, start


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="case", help="start, keys; all by default")
    parser.add_argument("--rounds", type=int, default=7, help="launches per program")
    parser.add_argument("--keys", type=int, default=200, help="key presses per program")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a demand is not held")
    chosen = parser.parse_args()
    wanted = chosen.cases or ["start", "keys"]
    if unknown := set(wanted) - {"start", "keys"}:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    cases = []
    if "start" in wanted:
        cases += start.run(chosen.rounds)
    if "keys" in wanted:
        cases += keys.run(chosen.keys)
    for case in cases:
        print(case.line())
    return int(chosen.strict and not all(case.held for case in cases))


if __name__ == "__main__":
    sys.exit(main())
