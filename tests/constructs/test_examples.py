"""The examples in the docstrings of the constructs can be pasted into an application."""

import doctest

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs, aws_iam, aws_lambda, aws_secretsmanager, aws_sns_subscriptions, aws_sqs

import lifoq_cdk
from lifoq.ingest.mapping import IngestMapping
from tests.constructs.application import HERE, app_in

OF_THE_LIBRARY = {"HttpsTarget", "LambdaTarget"}
"""Names whose examples the reference of the library runs."""
NAMES = sorted({*lifoq_cdk.__all__} - OF_THE_LIBRARY)


@pytest.mark.prove
@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_public_name_makes_what_it_says(name, tmp_path, monkeypatch):
    monkeypatch.chdir(HERE)
    stack = cdk.Stack(app_in(tmp_path), "pictures")
    role = aws_iam.Role(stack, "Caller", assumed_by=aws_iam.AccountRootPrincipal())
    around = {each: getattr(lifoq_cdk, each) for each in lifoq_cdk.__all__} | {
        "cdk": cdk,
        "ecs": aws_ecs,
        "lambda_": aws_lambda,
        "sqs": aws_sqs,
        "subscriptions": aws_sns_subscriptions,
        "IngestMapping": IngestMapping,
        "stack": stack,
        "queue": lifoq_cdk.LifoQueue(stack, "Queue", tasks=HERE / "thumbnails"),
        "caller": role,
        "login": aws_secretsmanager.Secret(stack, "Login"),
        "broker_arn": "arn:aws:mq:us-east-1:111122223333:broker:shop:b-4711",
    }
    docstring = around[name].__doc__
    examples = doctest.DocTestParser().get_doctest(docstring, around, name, None, None)
    assert examples.examples
    assert name in docstring.partition("Examples:")[2]
    assert doctest.DocTestRunner().run(examples).failed == 0
