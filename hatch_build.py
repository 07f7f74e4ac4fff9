"""Write the adapters' names for type checkers and editors into the wheel, when it is built.

An adapter makes classes of the core's table of metrics when they are first used, and a type checker runs no code. So the
wheel has an ``__init__.pyi`` beside each adapter's ``__init__.py``: the same text, with each of these classes written out.
"""

from __future__ import annotations

import ast
import re
import runpy
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
METRICS = ROOT / "core" / "ctxmetrics" / "metrics"

# The line that adds the metrics' names to ``__all__``: of classes by a pattern, or the metrics' own.
_EXTEND = re.compile(r"^__all__\.extend\(.*", re.MULTILINE)
_PATTERN = re.compile(r'adapting\.MetricClasses\(__name__, "(.*?)"')
# The function that makes a class, and says of which type.
_GETATTR = re.compile(
    r"""
    ^def[ ]__getattr__\(name:[ ]str\)[ ]->[ ](?P<type>.+?):
    .*(?:\n[ ]+.+)*  # its body
    """,
    re.VERBOSE | re.MULTILINE,
)


class CustomBuildHook(BuildHookInterface[Any]):
    """Add a stub for each adapter; an editable install has none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the stubs to a temporary folder, from where they are packed."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()  # kept until the wheel is written
        for adapter in sorted((ROOT / "adapters").glob("*/__init__.py")):
            package = adapter.parent.name
            stub = Path(self._folder.name, f"{package}.pyi")
            stub.write_text(build_stub(adapter.read_text(encoding="utf-8")), encoding="utf-8")
            build_data["force_include"][str(stub)] = f"{package}/__init__.pyi"


def build_stub(source: str) -> str:
    """Return an adapter's ``__init__.py`` with the classes written out that it makes of the core's metrics."""
    pattern = _PATTERN.search(source)
    names = [*list_metrics().values()]
    if pattern:
        names = [pattern[1].format(name) for name in list_metrics()]
    source = _EXTEND.sub(f"__all__ += {names}", source)
    getattr_function = _GETATTR.search(source)
    if getattr_function is None:
        raise ValueError("the adapter has no __getattr__ that makes classes")
    kind = getattr_function["type"]
    declarations = []
    for name in names:
        if re.search(rf"^(?:class )?{name}\b", source, re.MULTILINE):
            continue  # the adapter writes it itself
        if kind.startswith("type["):
            base = kind.removeprefix("type[").removesuffix("]")
            declarations.append(f"class {name}({base}): ...")
        else:
            declarations.append(f"{name}: {kind}")
    before = source[: getattr_function.start()]
    return before + "\n".join(declarations) + source[getattr_function.end() :]


def list_metrics() -> dict[str, str]:
    """Return the name of each metric by that of its class, in the order of the core's table."""
    names = {}
    for path in METRICS.glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            match = re.search(r"base_name: ClassVar\[str\] = '(\w+)'", ast.unparse(node))
            if isinstance(node, ast.ClassDef) and match:
                names[node.name] = match[1]
    table = runpy.run_path(str(METRICS / "__init__.py"))["METRIC_MODULES"]
    return {name: names[name] for name in table}
