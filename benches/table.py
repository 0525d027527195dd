"""Rows of a route table from bench rows: `python3 benches/table.py ROWS.jsonl < TABLE > NEW`.

Keeps the table's header and its rows for n > 32. The native families of each shape stand by their time, `jacobi` and
the vendor behind them. Of batches in a row that agree only those beside a change are kept: the nearest one decides.
"""

import json
import sys
from collections import defaultdict

WORDS = ["f32", "f64", "c32", "c64"]


def measured(path):
    times = defaultdict(dict)
    for line in open(path):
        row = json.loads(line)
        if row.get("ns") and not row["route"].startswith("vendor"):
            times[row["dtype"], row["jobz"], row["n"], row["batch"]][row["route"]] = row["ns"]
    return times


def rows(times):
    orders = {key: sorted(of, key=of.get) for key, of in times.items()}
    shapes = sorted({key[:3] for key in orders}, key=lambda s: (WORDS.index(s[0]), s[1] != "V", s[2]))
    for shape in shapes:
        batches = sorted(key[3] for key in orders if key[:3] == shape)
        of = [orders[(*shape, batch)] for batch in batches]
        changes = [i for i in range(len(of)) if of[i] != of[max(i - 1, 0)] or of[i] != of[min(i + 1, len(of) - 1)]]
        for i in changes or [len(of) - 1]:
            dtype, jobz, n = shape
            yield f"{dtype}   {jobz}    {n:4} {batches[i]:8}  {' '.join(of[i])} jacobi vendor:syevj"


def main():
    new = list(rows(measured(sys.argv[1])))
    done = False
    for line in sys.stdin.read().splitlines():
        words = line.split()
        if words and words[0] in WORDS:
            if not done:
                print("\n".join(new))
                done = True
            if int(words[2]) <= 32:
                continue
        print(line)


main()
