"""Commands: a function with its arguments, registered where it stands.

    @COMMANDS.command("what it is for", TO, option("--cost", action="store_true", help="…"))
    def plan(options): ...

The name of the function is that of the command; nothing else lists it.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    Parsers = argparse._SubParsersAction[argparse.ArgumentParser]

Argument = Callable[[argparse.ArgumentParser], object]  # adds itself to a parser
Run = Callable[[argparse.Namespace], str | None]


@dataclass(frozen=True)
class Command:
    """A command; ``product`` says what it is run for: files, or what it prints.

    What ``run`` returns is its last line: what it has given, for people.
    """

    name: str
    says: str
    arguments: tuple[Argument, ...]
    run: Run
    product: Literal["files", "output"]

    def add_to(self, parsers: "Parsers") -> None:
        """Make it known to a parser."""
        parser = parsers.add_parser(self.name, help=self.says, description=self.says)
        for add in self.arguments:
            add(parser)
        parser.set_defaults(command=self.run, product=self.product)


@dataclass(frozen=True)
class Family:
    """A command whose first argument says which of several it is: ``simt bench train``."""

    name: str
    says: str
    group: "Group"

    def add_to(self, parsers: "Parsers") -> None:
        """Make it known to a parser, with all that belong to it."""
        parser = parsers.add_parser(self.name, help=self.says, description=self.says)
        self.group.add_to(parser.add_subparsers(title="what", required=True, metavar="WHAT"))


class Group:
    """The commands of one file, as the help lists them."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.commands: list[Command | Family] = []

    def command(
        self, says: str, *arguments: Argument, product: Literal["files", "output"] = "output"
    ) -> Callable[[Run], Run]:
        """Registers the function below it."""

        def register(run: Run) -> Run:
            name = run.__name__.replace("_", "-")
            self.commands.append(Command(name, says, arguments, run, product))
            return run

        return register

    def family(self, name: str, says: str) -> "Group":
        """The group of the commands that begin with ``name``."""
        group = Group(name)
        self.commands.append(Family(name, says, group))
        return group

    def add_to(self, parsers: "Parsers") -> None:
        """Make all of them known to a parser."""
        for command in self.commands:
            command.add_to(parsers)

    def listing(self) -> list[str]:
        """A line for each, below the title."""
        return [f"{self.title}:", *(f"  {one.name:<12} {one.says}" for one in self.commands)]


def option(*names: str, **details: Any) -> Argument:
    """An argument as argparse takes it."""
    return lambda parser: parser.add_argument(*names, **details)


def one_of(*options: Argument) -> Argument:
    """Options of which at most one may be given."""

    def add(parser: argparse.ArgumentParser) -> None:
        group = parser.add_mutually_exclusive_group()
        for each in options:
            each(group)  # type: ignore[arg-type]  # it has add_argument, too

    return add


def several(*arguments: Argument) -> Argument:
    """Arguments that go together."""

    def add(parser: argparse.ArgumentParser) -> None:
        for each in arguments:
            each(parser)

    return add
