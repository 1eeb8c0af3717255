"""Check that this machine reaches the queue, and speaks its language."""

import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Final

from lifoq.basics.clock import CLOCK_TOLERANCE
from lifoq.client import connection
from lifoq.client.connection import Connection
from lifoq.errors import QueueMisconfigured, StoreUnavailable
from lifoq.operating import deployment
from lifoq.operating.aws_calls import NotThere
from lifoq.operating.deployment import Deployment
from lifoq_cli.doctor.finding import Finding
from lifoq_cli.doctor.patient import Patient

WHOLE_SECOND: Final = 1.0
"""Seconds to which the header ``Date`` is rounded down."""


def credentials(patient: Patient) -> Iterator[Finding]:
    try:
        patient.account.call("sts", "get_caller_identity")
    except (QueueMisconfigured, StoreUnavailable) as error:
        yield Finding(
            wrong=str(error),
            meaning="Nothing can be asked of AWS; neither can producers that run as you do.",
            remedy="aws sts get-caller-identity, once AWS_PROFILE is set, or you have signed in",
        )


def clock(patient: Patient) -> Iterator[Finding]:
    answer = patient.account.call("sts", "get_caller_identity")
    date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
    if date is None:
        return
    ahead = time.time() - parsedate_to_datetime(date).timestamp() - WHOLE_SECOND / 2
    if abs(ahead) > CLOCK_TOLERANCE + WHOLE_SECOND / 2:
        off = "ahead" if ahead > 0 else "behind"
        yield Finding(
            wrong=f"This machine's clock is {abs(ahead):.0f} s {off}.",
            meaning="lifoq goes by DynamoDB's clock then, to within a second; AWS refuses calls of "
            "a machine that is five minutes off.",
            remedy="timedatectl set-ntp true",
        )


def settings(patient: Patient) -> Iterator[Finding]:
    parameter = connection.parameter_name(patient.name)
    try:
        text = _parameter(patient, parameter)
        patient.settings = Connection.decode(text, source=f"SSM parameter {parameter}")
    except QueueMisconfigured as error:
        yield Finding(
            wrong=f"{error}.",
            meaning=f'Queue.connect("{patient.name}") finds no queue to put a task into.',
            remedy=patient.deploy,
        )


def parts(patient: Patient) -> Iterator[Finding]:
    parameter = deployment.parameter_name(patient.name)
    try:
        text = _parameter(patient, parameter)
        patient.deployed = Deployment.decode(text, source=f"SSM parameter {parameter}")
    except QueueMisconfigured as error:
        yield Finding(
            wrong=f"{error}.",
            meaning="What the queue is made of is not known: it can be neither examined nor paused "
            "by its name.",
            remedy=patient.deploy,
        )


def _parameter(patient: Patient, name: str) -> str:
    """Return the deployment's parameter. Raises QueueMisconfigured."""
    try:
        answer = patient.account.call("ssm", "get_parameter", Name=name)
    except NotThere as error:
        raise QueueMisconfigured(
            f"there is no SSM parameter {name} in this account and region; perhaps AWS_PROFILE or "
            "AWS_REGION name others"
        ) from error
    return str(answer["Parameter"]["Value"])
