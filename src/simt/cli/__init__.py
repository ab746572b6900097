"""The command line: each command is its arguments and a call.

A new command is one function in the file of its group. The heavy imports stand inside the commands,
so that `simt plan` does not wait for torch.
"""

import argparse
import atexit
import errno
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from simt.cli import logs, measurements, steps, studies, translation
from simt.errors import SimtError, readable
from simt.joblogs import DONE
from simt.output import ignore_write_errors, log_to
from simt.usage import usage_recorded

GROUPS = [file.COMMANDS for file in (studies, translation, logs, measurements, steps)]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of one command; a user's mistake is one message, never a traceback."""
    # Looking for garbage in all that torch has made is of no use to a process that ends, and takes
    # as long as a fifth of its import.
    atexit.register(gc.freeze)
    options = _parser().parse_args(arguments)
    is_output_lost = sys.stdout is None and options.product == "output" and not options.log
    ignore_write_errors(options.product == "output")
    if options.log:
        log_to(options.log)
    if is_output_lost:
        print("simt: standard output is closed: send it to a file or a pipe", file=sys.stderr)
        return 1
    try:
        with usage_recorded(options.log) if options.log else nullcontext():
            if result := options.command(options):
                print(f"{DONE}{result}")
            sys.stdout.flush()  # here, where a failure can still be told
    except SimtError as error:
        print(f"simt: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("simt: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `simt plan | head`; only such commands write to a pipe that can break
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"simt: {readable(_told(error, getattr(options, 'to', None)))}", file=sys.stderr)
        return 1
    except (MemoryError, RuntimeError) as error:
        if not _is_of_memory(error):
            raise
        print(f"simt: out of memory. {_LESS_MEMORY}", file=sys.stderr)
        return 1
    return 0


_LESS_MEMORY = (
    "Take a device with more, or a smaller model; a training takes less with a lower "
    "micro_tokens, a setting under training in params.yaml."
)


def _is_of_memory(error: Exception) -> bool:
    """Whether there was not enough; torch has a kind of error for GPUs only."""
    words = ("out of memory", "can't allocate memory")
    return isinstance(error, MemoryError) or any(one in str(error) for one in words)


def _told(error: OSError, to: Path | None) -> str:
    """What the system refused, and the remedy. A write that fails does not say where."""
    what = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"cannot write {error.filename or to or Path.cwd()}: {what}. What was complete before "
            "is intact: free some space and start the same command again."
        )
    where = error.filename2 or error.filename or to  # 2: the name that a file was to get
    return f"{where}: {what}" if where else what


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="simt",
        usage="simt [-h] [--log FILE] COMMAND ...",
        description="Simultaneous translation, from corpus to figure.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--log",
        type=Path,
        metavar="FILE",
        help="append all output to this file instead of printing it, e.g. logs/train.log",
    )
    commands = parser.add_subparsers(prog="simt", required=True, help=argparse.SUPPRESS)
    commands.metavar = "COMMAND"
    for group in GROUPS:
        group.add_to(commands)
    parser.epilog = _listing()
    return parser


def _listing() -> str:
    """All commands in their groups, since argparse knows one."""
    lines = [line for group in GROUPS for line in (*group.listing(), "")]
    return "\n".join(
        [*lines, "simt COMMAND --help describes the options of a command, with examples."]
    )
