"""Where cosmic-ray can change the code, and what the changed code is."""

import ast
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

Position = tuple[int, int]  # line and column


@dataclass(frozen=True)
class Mutant:
    """One change: the nth occurrence of what an operator changes."""

    path: Path
    operator: str
    occurrence: int
    line: int

    def code(self) -> str:
        """The whole file with the change in it."""
        code = self.path.read_text(encoding="utf-8")
        return str(mutate_code(code, get_operator(self.operator)(), self.occurrence))

    def diff(self) -> str:
        """The lines that are changed, before and after."""
        before, after = self.path.read_text(encoding="utf-8").splitlines(), self.code().splitlines()
        changed = [(one, two) for one, two in zip(before, after, strict=False) if one != two]
        one, two = changed[0] if changed else ("", "")
        return f"    - {one.strip()}\n    + {two.strip()}"


def places(path: Path) -> dict[Position, list[Mutant]]:
    """The changes that a file allows, by place: one place may be changed in ten ways."""
    found: dict[Position, list[Mutant]] = defaultdict(list)
    tree = get_ast(path.read_text(encoding="utf-8"))
    for name in operator_names():
        if get_operator(name).arguments():
            continue  # asks for names of variables
        for number, (start, _) in enumerate(_positions(tree, get_operator(name)())):
            found[start].append(Mutant(path, name, number, start[0]))
    return found


def _positions(tree: Any, operator: Any) -> list[tuple[Position, Position]]:
    return [place for node in ast_nodes(tree) for place in operator.mutation_positions(node)]


def is_real(mutant: Mutant) -> bool:
    """Whether anything but an annotation is changed, and the file can still be read."""
    try:
        changed = _without_annotations(mutant.code())
    except SyntaxError:
        return False
    return changed != _without_annotations(mutant.path.read_text(encoding="utf-8"))


def _without_annotations(code: str) -> str:
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)
