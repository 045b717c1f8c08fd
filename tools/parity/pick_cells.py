"""Picks rows of a record (--record) for a file of expected results: of every outcome and kind alike, in the record's order.

    python3 tools/parity/pick_cells.py RECORD.csv OUT.csv --number 1200

Left out are cells of more than 16 ranks, and those that only compare.py can compare: where several parameters tie for the
worst, and where float32 on one rank is off by so much that the usual bound does not hold."""
import argparse
import csv
import itertools
import os
import sys

from cells import NAMES
from compare import RELATIVE, relative_bound
from results import RESULT_COLUMNS, class_of

MOST_RANKS = 16
COLUMNS = NAMES + ("framework",) + RESULT_COLUMNS


def pick(rows, number):
    """At most `number` of the rows."""
    by_class = {}
    for place, row in enumerate(rows):
        ranks = int(row["tp"]) * int(row["pp"])
        if ranks <= MOST_RANKS and not row["ties"] and relative_bound(row) == RELATIVE:
            by_class.setdefault(class_of(row), []).append(place)
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*by_class.values()))
    places = sorted(itertools.islice((place for place in in_turn if place is not None), number))
    return [rows[place] for place in places]


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record")
    parser.add_argument("out")
    parser.add_argument("--number", type=int, default=1200)
    args = parser.parse_args(argv)
    with open(args.record, newline="", encoding="utf-8") as file:
        rows = pick(list(csv.DictReader(file)), args.number)
    partial = f"{args.out}.partial"
    with open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(partial, args.out)
    print(f"{args.out}: {len(rows)} cells")


if __name__ == "__main__":
    main(sys.argv[1:])
