#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
"""Turns CSV files of symm_perf into Markdown tables, as in docs/measurements.md.

    contrib/perf_table.py gpu.csv                    # a table per operation, all sizes
    contrib/perf_table.py gpu.csv --sizes 8,1K,1M    # these sizes alone
"""

import argparse
import csv
import sys

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text):
    """Bytes of "8", "64K", "1M", "1G"."""
    unit = UNITS.get(text[-1:].upper())
    return int(text[:-1]) * unit if unit else int(text)


def parse_sizes(text):
    return [parse_size(size) for size in text.split(",")]


def size_name(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def number(text):
    """Three or four significant digits."""
    value = float(text)
    if value < 1:
        return f"{value:.3f}"
    if value < 100:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def load(paths):
    """{(op, manner): {bytes: {contestant: row}}}, in the order of the files."""
    series = {}
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(line for line in file if not line.startswith("#")):
                sizes = series.setdefault((row["op"], row["manner"]), {})
                sizes.setdefault(int(row["bytes"]), {})[row["contestant"]] = row
    return series


def print_lines(lines):
    """A Markdown table, its head first."""
    for line in [lines[0], ["---"] * len(lines[0])] + lines[1:]:
        print("| " + " | ".join(line) + " |")


def table_row(size, rows, peers):
    symm = rows["symm"]
    cells = [size_name(size), number(symm["median_us"]), f"{float(symm['bus_gbs']):.1f}"]
    for peer in peers:
        row = rows.get(peer)
        cells += [number(row["median_us"]), f"{float(row['ours_to_this']):.2f}"] if row else ["", ""]
    return cells + [symm["plan"].split(" ")[0]]


def print_table(title, sizes, wanted):
    peers = list(dict.fromkeys(name for rows in sizes.values() for name in rows if name != "symm"))
    head = ["size", "symm, us", "bus GB/s"]
    for peer in peers:
        head += [f"{peer}, us", "ratio"]
    print(f"\n{title}\n")
    rows = [table_row(size, rows, peers) for size, rows in sizes.items()
            if wanted is None or size in wanted]
    if any(row[-1] for row in rows):
        head.append("plan")
    else:
        rows = [row[:-1] for row in rows]
    print_lines([head] + rows)


def value(rows, contestant, column="median_us"):
    return float(rows[contestant][column])


OVERLAP_HEAD = ["size of a part", "", "MPI_Test", "compute alone, us", "beside, us", "slowed by",
                "call returns, us", "call alone, us", "GB/s", "beside, us", "GB/s", "both, us", "hidden"]


def overlap_row(size, who, name, parts):
    """A row of contestant who, whose program tests the call in the way that name says."""
    def us(part):
        return value(parts[part], who)
    compute, beside, both = us("compute alone"), us(f"compute {name}"), us(f"both {name}")
    call = us("call alone")
    cells = [size_name(size), who, name, number(compute), number(beside),
             f"{(beside / compute - 1) * 100:.1f} %", number(us("start alone")), number(call),
             f"{value(parts['call alone'], who, 'bus_gbs'):.0f}"]
    polled = parts.get(f"call {name}")
    cells += [number(value(polled, who)), f"{value(polled, who, 'bus_gbs'):.0f}"] if polled else ["", ""]
    hidden = (compute + call - both) / min(compute, call)
    return cells + [number(both), f"{hidden * 100:.0f} %"]


OVERLAPS = {"overlap": "out of place", "overlap in place": "in place"}


def print_overlap(series, overlap, wanted):
    """Rows of an operation of OVERLAPS, whose manners are the parts of one measurement."""
    parts = {manner: sizes for (op, manner), sizes in series.items() if op == overlap}
    print(f"\n**all-gather beside computation, {OVERLAPS[overlap]}**\n")
    print_lines([OVERLAP_HEAD] + [
        overlap_row(size, who, name, {manner: sizes[size] for manner, sizes in parts.items()})
        for size, rows in parts["call alone"].items() if wanted is None or size in wanted
        for who in rows for name in ("polled", "tested", "untested")])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("csv", nargs="+",
                        help="file that symm_perf --csv wrote; several, of different sizes, become one")
    parser.add_argument("--sizes", type=parse_sizes, help="comma-separated, as 8,64K,1M [all]")
    arguments = parser.parse_args()
    series = load(arguments.csv)
    for (op, manner), sizes in series.items():
        if op not in OVERLAPS:
            print_table(f"**{op}, {manner}**", sizes, arguments.sizes)
    for overlap in OVERLAPS:
        if (overlap, "call alone") in series:
            print_overlap(series, overlap, arguments.sizes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
