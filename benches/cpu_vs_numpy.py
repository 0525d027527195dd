#!/usr/bin/env python3
"""CPU family against numpy.linalg.eigh: same matrices, same cores, one run, interleaved.

    python3 benches/cpu_vs_numpy.py [--rounds 9] [--batch 10000] [--orders 4,8,16,32] [--values]

Needs numpy and cargo. A ratio above 1 means that batchlas is faster. Both sides
solve the whole batch from arrays in memory to new arrays of results. Exit
status 1 where a median ratio is below 1 or the results differ.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

# Settings of this shell must not slow numpy down; OpenBLAS reads them at import.
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
import numpy as np  # noqa: E402


def program():
    """Builds the other side and returns its path."""
    import json

    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    command = ["cargo", "build", "--profile", "bench", "-p", "batchlas", "--bench", "cpu_vs_numpy"]
    built = subprocess.run(command + ["--message-format", "json-render-diagnostics"], cwd=root, check=True, stdout=subprocess.PIPE)
    for line in built.stdout.decode().splitlines():
        message = json.loads(line)
        if message.get("target", {}).get("name") == "cpu_vs_numpy" and message.get("executable"):
            return message["executable"]
    sys.exit("cargo built no cpu_vs_numpy")


class Rust:
    """The program, which solves what it is told to."""

    def __init__(self):
        self.process = subprocess.Popen([program(), "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def run(self, job):
        self.tell(job)
        answer = self.process.stdout.readline().split()
        if not answer:
            sys.exit("the program ended")
        return float(answer[0]), float(answer[1])


def numpy_run(job, a):
    start = time.perf_counter()
    result = getattr(np.linalg, job)(a)
    seconds = time.perf_counter() - start
    values = result.eigenvalues if job == "eigh" else result
    return seconds, float(np.sum(values * values))





def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--batch", type=int, default=10_000)
    arguments.add_argument("--orders", default="4,8,16,32")
    arguments.add_argument("--values", action="store_true", help="eigvalsh instead of eigh")
    options = arguments.parse_args()
    job = "eigvalsh" if options.values else "eigh"
    rust = Rust()
    random = np.random.default_rng(7)
    print(f"{job}, f64, batch {options.batch}, {len(os.sched_getaffinity(0))} cores, numpy {np.__version__}, {options.rounds} rounds")
    print(f"{'n':>4} {'numpy us/item':>14} {'batchlas us/item':>17} {'ratio median':>13} {'ratio least':>12} {'greatest':>9}")
    good = True
    for n in map(int, options.orders.split(",")):
        a = random.standard_normal((options.batch, n, n))
        a = a + a.transpose(0, 2, 1)
        with tempfile.NamedTemporaryFile() as file:
            a.tofile(file)
            file.flush()
            rust.tell(f"load {file.name} {n} {options.batch}")
            rust.run(job)
        numpy_run(job, a)
        theirs, ours, ratios = [], [], []
        for k in range(options.rounds):
            # Whoever goes first may find the caches warmer: take turns.
            if k % 2:
                (x, x_sum), (y, y_sum) = numpy_run(job, a), rust.run(job)
            else:
                (y, y_sum), (x, x_sum) = rust.run(job), numpy_run(job, a)
            good &= abs(x_sum - y_sum) <= 1e-10 * x_sum
            theirs.append(x)
            ours.append(y)
            ratios.append(x / y)
        per_item = 1e6 / options.batch
        middle = statistics.median(ratios)
        good &= middle >= 1
        print(f"{n:>4} {statistics.median(theirs) * per_item:>14.3f} {statistics.median(ours) * per_item:>17.3f} {middle:>13.2f} {min(ratios):>12.2f} {max(ratios):>9.2f}")
    sys.exit(0 if good else 1)


main()
