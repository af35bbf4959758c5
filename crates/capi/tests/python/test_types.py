"""The types of `__init__.pyi` against the modules: the same names, methods, parameters and defaults; and the
order of the modules. `tests/python.rs` runs it."""

import ast
import inspect
import pathlib
import unittest

import overtake_gpu

STUB = pathlib.Path(overtake_gpu.__file__).with_suffix(".pyi")


def parameters_of(node):
    """The parameters of a stub's function by name, with their defaults as text, and the name behind `**`."""
    given = node.args
    places = given.posonlyargs + given.args
    defaults = [None] * (len(places) - len(given.defaults)) + given.defaults
    pairs = [*zip(places, defaults), *zip(given.kwonlyargs, given.kw_defaults)]
    return {each.arg: default and ast.literal_eval(default) for each, default in pairs}, given.kwarg


def is_public(name):
    return not name.startswith("_")


class Types(unittest.TestCase):
    def setUp(self):
        self.body = ast.parse(STUB.read_text(encoding="utf-8")).body
        self.nodes = [node for node in self.body if hasattr(node, "name")]

    def check(self, name, node, function):
        """A parameter of the stub is one of the function, or one that it passes on by `**options`."""
        stated, options = parameters_of(node)
        real = inspect.signature(function).parameters
        kinds = [each.kind for each in real.values()]
        passes_on = inspect.Parameter.VAR_KEYWORD in kinds
        self.assertTrue(passes_on or options is None, f"{name} has no options")
        named = [each for each in real.values() if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
        for each in named:
            self.assertIn(each.name, stated, f"{name}: the stub lacks a parameter")
        for each, default in stated.items():
            if each not in real:
                self.assertTrue(passes_on, f"{name} has no parameter {each}")
            elif default is not None and real[each].default is not inspect.Parameter.empty:
                self.assertEqual(default, real[each].default, f"the default of {each} of {name}")

    def test_all_names_are_there(self):
        stated = {node.name for node in self.nodes if is_public(node.name)}
        constants = {node.target.id for node in self.body if isinstance(node, ast.AnnAssign)}
        self.assertEqual(set(overtake_gpu.__all__) - stated - constants, set())
        listed = [node.value for node in self.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"]
        self.assertEqual([ast.literal_eval(each) for each in listed], [overtake_gpu.__all__])
        for name in stated - {"Group", "View"}:  # those come from calls only
            self.assertTrue(hasattr(overtake_gpu, name), name)

    def test_functions_have_their_parameters(self):
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef):
                self.check(node.name, node, getattr(overtake_gpu, node.name))

    def test_options_are_those_of_the_calls(self):
        calls = {
            "_TaskOptions": (overtake_gpu.Tasks._submit,),
            "_StepOptions": (overtake_gpu.Template._add,),
            "_ComputationOptions": (overtake_gpu.Arrays.spec_of,),
            "_ArraysOptions": (overtake_gpu.Arrays.__init__,),
            "_PipelineOptions": (overtake_gpu.Pipeline.__init__,),
        }
        own = {"self", "dispatcher", "tasks", "kind", "name", "size", "function", "arguments", "options", "others"}
        for node in self.nodes:
            if node.name in calls:
                stated = {each.target.id for each in node.body}
                real = {name for call in calls.pop(node.name) for name in inspect.signature(call).parameters} - own
                self.assertEqual(stated - {"room_timeout"}, real - {"room_timeout"}, node.name)
        self.assertEqual(calls, {})

    def test_classes_have_their_methods(self):
        for node in self.nodes:
            found = getattr(overtake_gpu, node.name, None)
            if not isinstance(node, ast.ClassDef) or found is None:
                continue
            stated = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
            for name, method in stated.items():
                real = inspect.getattr_static(found, name)
                if not isinstance(real, property):
                    self.check(f"{node.name}.{name}", method, real)
            methods = {name for name, each in vars(found).items() if callable(each) or isinstance(each, property)}
            hidden = {"shape", "on_host", "on_device", "element_type"} if node.name == "Use" else set()
            hidden |= {"spec_of", "submit"} if node.name == "Arrays" else set()
            hidden |= {"follow_streams", "lend"} if node.name == "Lane" else set()
            self.assertEqual({name for name in methods if is_public(name)} - hidden - set(stated), set(), node.name)


# Each module of the package stands on those before it.
LAYERS = ["_lib", "_calls", "_copies", "_exchange", "_tasks", "_templates", "_uses", "_arrays", "_pipelines"]
LAYERS += ["_dispatcher", "__init__"]


def siblings(node):
    """The modules of the package that a statement imports."""
    if not isinstance(node, ast.ImportFrom) or node.level == 0:
        return []
    return [node.module] if node.module else [each.name for each in node.names]


class Layers(unittest.TestCase):
    def test_imports_go_downward_and_none_is_lazy(self):
        folder = STUB.parent
        self.assertEqual({path.stem for path in folder.glob("*.py")} - {"__main__"}, set(LAYERS))
        for at, name in enumerate(LAYERS):
            tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
            above = [each for node in tree.body for each in siblings(node) if each not in LAYERS[:at]]
            self.assertEqual(above, [], name)
            inside = [node.lineno for node in ast.walk(tree) if node not in tree.body and siblings(node)]
            self.assertEqual(inside, [], name)


if __name__ == "__main__":
    unittest.main()
