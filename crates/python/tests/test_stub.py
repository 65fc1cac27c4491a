"""The stub has every public name of the module, and no other."""

import ast
import pathlib

import touchline

STUB = pathlib.Path(touchline.__file__).with_name("__init__.pyi")


def public(names):
    kept = {"__enter__", "__exit__", "__iter__", "__next__", "__len__"}
    return {name for name in names if name in kept or not name.startswith("_")}


def test_classes_have_the_members_of_the_stub():
    tree = ast.parse(STUB.read_text())
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert {"Bus", "Journal", "Replay", "Batch", "Book", "Event"} <= {node.name for node in classes}
    all_stated = {}
    for node in classes:
        stated = {item.name for item in node.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))}
        # Bases stand before.
        stated = stated.union(*(all_stated.get(base.id, set()) for base in node.bases if isinstance(base, ast.Name)))
        all_stated[node.name] = stated
        there = set(dir(getattr(touchline, node.name))) - set(dir(object))
        assert public(stated) == public(there), node.name


def test_the_package_has_the_names_of_the_stub():
    tree = ast.parse(STUB.read_text())
    defined = {
        node.name
        for node in tree.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")
    }
    again = {
        alias.asname
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert defined | again | {"__version__", "names"} == set(touchline.__all__)


def test_what_returns_itself_is_of_its_own_class_in_the_stub():
    """`with touchline.Journal(...) as journal` is a `Journal`, not a `Bus`."""
    tree = ast.parse(STUB.read_text())
    returned = {
        (node.name, item.name): ast.unparse(item.returns)
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name != "Batch"
        for item in node.body
        if isinstance(item, ast.FunctionDef) and item.name in ("__enter__", "__iter__")
    }
    assert {name for name, _ in returned} == {"Bus", "Desk", "Replay"}
    assert set(returned.values()) == {"Self"}
