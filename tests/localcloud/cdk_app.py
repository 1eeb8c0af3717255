"""A CDK application with one function, in two versions, each as an assembly of its own."""

import sys

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_


def synthesize(folder: str, asset: str, greeting: str) -> None:
    app = cdk.App(outdir=folder)
    stack = cdk.Stack(app, "small")
    function = lambda_.Function(
        stack,
        "Probe",
        code=lambda_.Code.from_asset(asset),
        handler="probe.handle",
        runtime=lambda_.Runtime.PYTHON_3_13,
        environment={"GREETING": greeting},
    )
    cdk.CfnOutput(stack, "Function", value=function.function_name)
    app.synth()


if __name__ == "__main__":
    first, second, code = sys.argv[1:]
    synthesize(first, code, "hello")
    synthesize(second, code, "good day")
