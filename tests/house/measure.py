"""`python tests/house/measure.py [--list]`: how the package is laid out and worded, in numbers.

Every number is read from the sources alone: nothing of the package is imported or run. `--list`
names what is behind each number that should be 0.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "sqlpriv"
FORMATTED = ("sqlpriv/**/*.py", "tests/**/*.py", "examples/**/*.py")
LARGEST_ROOM = 12
"""Python files in one folder, `__init__` not counted."""
LOOSE = {"__init__.py", "__main__.py", "errors.py"}
"""What may lie at the package's root."""
IRREGULAR = {
    "asked",
    "bought",
    "built",
    "chosen",
    "cut",
    "done",
    "drawn",
    "due",
    "drawn_on",
    "fed",
    "found",
    "given",
    "gone",
    "grown",
    "had",
    "held",
    "hidden",
    "kept",
    "known",
    "laid",
    "left",
    "lost",
    "made",
    "meant",
    "met",
    "paid",
    "put",
    "read_out",
    "risen",
    "said",
    "seen",
    "sent",
    "shown",
    "sold",
    "spent",
    "split_up",
    "spread",
    "taken",
    "thrown",
    "told",
    "torn",
    "understood",
    "written",
}
NOUNS = {"bed", "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed"}
"""Words that end as participles do and are none."""
CATCH_ALL = {"asked", "due", "found", "given", "known", "made", "said", "seen", "shown", "told"}
"""Locals that do not say what they hold."""


def source_paths() -> list[Path]:
    """Returns the path inside the package of each of its files."""
    files = (path for path in sorted(PACKAGE.rglob("*.py")) if "_udfs" not in path.parts)
    return [path.relative_to(PACKAGE) for path in files]


def sources() -> dict[Path, ast.Module]:
    """Returns the syntax tree of every file of the package, by its path inside the package."""
    return {path: ast.parse((PACKAGE / path).read_text()) for path in source_paths()}


@cache
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Returns all nodes of a tree: walking it takes most of the time, and much is counted."""
    return tuple(ast.walk(tree))


def statement_count(tree: ast.AST) -> int:
    """Returns how many statements a tree has; a docstring is none.

    >>> statement_count(ast.parse("'a docstring'\\nif a:\\n    b = 1; c = 2"))
    3
    """
    nodes = [node for node in nodes_of(tree) if isinstance(node, ast.stmt)]
    strings = [n for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    return len(nodes) - len(strings)


def is_bare_participle(name: str) -> bool:
    """Returns whether a function's name is a participle with no noun or verb beside it.

    >>> [is_bare_participle(name) for name in ("settled", "_told", "read_rows", "noised_counts")]
    [True, True, False, False]
    """
    word = name.strip("_")
    return word in IRREGULAR or ("_" not in word and word.endswith("ed") and word not in NOUNS)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yields every function and method; properties are not among them: they are read as nouns."""
    for node in nodes_of(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
            if not decorators & {"property", "cached_property"}:
                yield node


def catch_all_locals(tree: ast.AST) -> Iterator[str]:
    """Yields the names that functions bind and that say nothing of what they hold."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in CATCH_ALL:
            yield f"{node.id}:{node.lineno}"


def imported_folders(path: Path, tree: ast.AST) -> set[str]:
    """Returns the folders of the package that a file imports from, but its own."""
    names = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlpriv."):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.startswith("sqlpriv.")}
    return {folder for name in names if (folder := folder_of(name)) != room(path)}


def room(path: Path) -> str:
    """Returns the folder of a file; a file at the root is a room of its own, as layers count it."""
    return path.parent.as_posix() if len(path.parts) > 1 else path.stem


@cache
def folder_of(name: str) -> str:
    """Returns the folder of the package in which a dotted name of a module, or in one, lies."""
    parts = name.split(".")[1:]
    while parts and not (PACKAGE.joinpath(*parts[:-1], f"{parts[-1]}.py")).exists():
        if PACKAGE.joinpath(*parts).is_dir():
            return "/".join(parts)
        parts.pop()
    return "/".join(parts[:-1]) or "/".join(parts)


def circles(arrows: dict[str, set[str]]) -> set[str]:
    """Returns the nodes of a graph from which a way leads back to them.

    >>> sorted(circles({"a": {"b"}, "b": {"a"}, "c": {"a"}}))
    ['a', 'b']
    """

    def reachable(start: str) -> set[str]:
        seen_nodes: set[str] = set()
        open_nodes = list(arrows.get(start, ()))
        while open_nodes:
            node = open_nodes.pop()
            if node not in seen_nodes:
                seen_nodes.add(node)
                open_nodes += arrows.get(node, ())
        return seen_nodes

    return {node for node in arrows if node in reachable(node)}


def doctest_count(tree: ast.AST) -> int:
    """Returns how many docstrings of a file show an example that runs."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    nodes = (node for node in nodes_of(tree) if isinstance(node, kinds))
    return sum(">>> " in (ast.get_docstring(node) or "") for node in nodes)


def repeated(names: dict[str, list[str]]) -> list[str]:
    """Returns the names that stand for several things, each with its places."""
    return [f"{name}: {', '.join(places)}" for name, places in names.items() if len(places) > 1]


def unformatted_lines() -> list[str]:
    """Returns the places of lines that are kept from the formatter: of the package, the tests and
    the examples."""
    root = PACKAGE.parent
    texts = {path: path.read_text() for folder in FORMATTED for path in root.glob(folder)}
    return [
        f"{path.relative_to(root)}:{number}"
        for path, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if re.search("# fmt: *(skip|off)", line)
    ]


@cache
def measure() -> dict[str, list[str] | int]:
    """Returns every number by its title; a list where the number should be 0 and has names."""
    trees = sources()
    rooms = Counter(path.parent.as_posix() for path in trees if path.name != "__init__.py")
    files, classes, arrows = defaultdict(list), defaultdict(list), defaultdict(set)
    participles, catch_alls = [], []
    for path, tree in trees.items():
        if path.name != "__init__.py":
            files[path.name].append(str(path.parent))
            arrows[room(path)] |= imported_folders(path, tree)
        for node in nodes_of(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(str(path))
        participles += [
            f"{path}:{f.lineno} {f.name}" for f in functions(tree) if is_bare_participle(f.name)
        ]
        catch_alls += [f"{path} {name}" for name in catch_all_locals(tree)]
    loose = {p.name for p in PACKAGE.iterdir() if p.suffix == ".py"} - LOOSE
    of_kernel = [tree for path, tree in trees.items() if path.parts[0] == "kernel"]
    lengths = {path: len((PACKAGE / path).read_text().splitlines()) for path in trees}
    return {
        "rooms": len(rooms),
        "files in the largest room": max(rooms.values()),
        "rooms that are too full": [f"{r}: {n}" for r, n in rooms.items() if n > LARGEST_ROOM],
        "folders in a circle of imports": sorted(circles(arrows)),
        "files loose at the root": sorted(loose),
        "names of several files": repeated(files),
        "names of several classes": repeated(classes),
        "lines of dialect": sum(n for path, n in lengths.items() if path.parts[0] == "dialect"),
        "lines of statements": sum(
            n for path, n in lengths.items() if path.parts[0] == "statements"
        ),
        "statements of the kernel": sum(map(statement_count, of_kernel)),
        "fmt: skip": unformatted_lines(),
        "doctests": sum(map(doctest_count, trees.values())),
        "functions named by a bare participle": participles,
        "locals that do not say what they hold": catch_alls,
    }


def main(arguments: list[str]) -> None:
    for title, value in measure().items():
        print(f"{len(value) if isinstance(value, list) else value:6}  {title}")
        if isinstance(value, list) and "--list" in arguments:
            print(*(f"          {name}" for name in value), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
