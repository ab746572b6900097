"""`make fuzz N=… SEED=…`: corrupted inputs for as long as you like."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch

from tests.fuzz.driver import cases, choose, try_input
from tests.samples.small_study import make_study


def main() -> int:
    """1 if a command did what it may not."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first input; the next is one more"
    )
    parser.add_argument("--only", metavar="CASE")
    parser.add_argument("--keep", type=Path, default=Path("fuzz"), help="for inputs that fail")
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.keep.mkdir(parents=True, exist_ok=True)
    keep, counts, seconds = options.keep.resolve(), Counter[str](), Counter[str]()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="simt-fuzz-") as folder:
        every = cases(make_study(Path(folder)))
        for seed in range(options.seed, options.seed + options.count):
            name = choose(seed, every)
            if options.only not in (None, name):
                continue
            started = time.monotonic()
            finding = try_input(seed, name, every[name], Path(folder), keep)
            counts[name] += 1
            seconds[name] += time.monotonic() - started  # type: ignore[assignment]
            if finding:
                failed += 1
                print(finding, file=sys.stderr, flush=True)
    for name, count in counts.items():
        print(f"{name:24} {count:6} inputs {seconds[name]:8.1f} s")
    print(f"{counts.total()} inputs, {failed} failed, {seconds.total():.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
