"""The package on the oldest Python that it promises: its syntax, and types written as X | Y that would be evaluated."""

import ast
import pathlib
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "python"
OLDEST = (3, 9)


def modules():
    return {path: ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=OLDEST)
            for path in sorted(PACKAGE.rglob("*.py"))}


def is_union(node):
    """X | Y of names, None or subscripts: of types, or of flags, of which the package has none."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)


def annotations(tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            a = node.args
            for argument in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
                if argument is not None and argument.annotation is not None:
                    yield argument.annotation
            if node.returns is not None:
                yield node.returns
        elif isinstance(node, ast.AnnAssign):
            yield node.annotation


class Oldest(unittest.TestCase):
    def test_the_syntax_is_known(self):
        self.assertGreater(len(modules()), 15)

    def test_unions_of_types_are_not_evaluated(self):
        for path, tree in modules().items():
            deferred = any(isinstance(n, ast.ImportFrom) and n.module == "__future__" for n in tree.body)
            seen = {id(part) for a in annotations(tree) for part in ast.walk(a)}
            for node in ast.walk(tree):
                if is_union(node) and not (deferred and id(node) in seen):
                    self.assertNotIsInstance(node.right, (ast.Name, ast.Constant, ast.Subscript),
                                             f"{path}:{node.lineno}: X | Y is of Python 3.10")


if __name__ == "__main__":
    unittest.main()
