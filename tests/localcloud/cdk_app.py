"""A CDK application with one function, in three versions, each as an assembly of its own."""

import sys
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_


def synthesize(folder: Path, asset: str, **environment: str) -> None:
    app = cdk.App(outdir=str(folder))
    stack = cdk.Stack(app, "small")
    function = lambda_.Function(
        stack,
        "Probe",
        code=lambda_.Code.from_asset(asset),
        handler="probe.handle",
        runtime=lambda_.Runtime.PYTHON_3_13,
        environment=environment,
    )
    if folder.name == "wrong":
        function.node.default_child.add_property_override("Timeout", "soon")
    cdk.CfnOutput(stack, "Function", value=function.function_name)
    app.synth()


if __name__ == "__main__":
    assemblies, code = Path(sys.argv[1]), sys.argv[2]
    synthesize(assemblies / "first", code, GREETING="hello")
    synthesize(assemblies / "second", code, GREETING="good day")
    synthesize(assemblies / "wrong", code, GREETING="never")
