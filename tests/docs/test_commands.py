"""Commands that the documents name are commands: with their options, and those of AWS with the
parameters of AWS's own model."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import botocore.session
import click
from botocore import xform_name

from lifoq_cli import app
from tests.docs.test_docs import DOCUMENTS, ROOT

AWS = botocore.session.get_session()
OF_EVERY_AWS_COMMAND = {"profile", "region", "output", "query", "endpoint-url", "cli-input-json"}
WRITTEN_BY_CODE = {ROOT / "docs" / "command-line.md"}


def lines(document: Path) -> Iterator[str]:
    text = document.read_text()
    for block in re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield from block.replace("\\\n", " ").splitlines()
    yield from re.findall(r"^(?: {4}| *- run: )(\S.*)$", text, re.MULTILINE)
    yield from re.findall(r"`((?:lifoq|aws) [^`]+)`", text)


def commands(document: Path, program: str) -> Iterator[list[str]]:
    for line in lines(document):
        for part in re.split(r" \| | && |; ", line.strip()):
            named = part.removeprefix("python -m ").removeprefix("npx ")
            if re.match(rf"{program} [a-z-]", named) and "…" not in named:
                yield shlex.split(named, comments=True)


def test_every_command_that_a_document_names_is_one(subtests):
    for document in DOCUMENTS:
        if document not in WRITTEN_BY_CODE:
            with subtests.test(document=document):
                for _, *words in commands(document, "lifoq"):
                    _understood(app.root, words)
                for _, service, operation, *words in commands(document, "aws"):
                    _known(service, operation, words)


def _understood(group: click.Group, words: list[str]) -> None:
    root = click.Context(group, info_name=app.PROGRAM)
    while words and words[0].startswith("-"):  # every command takes these, too
        words = words[2:]
    command = group.get_command(root, words[0])
    assert command, words
    if isinstance(command, click.Group) and len(words) > 1:
        _understood(command, words[1:])
        return
    context = click.Context(command, parent=root, **command.context_settings)
    try:
        _, left, _ = command.make_parser(context).parse_args(words[1:])
    except click.BadOptionUsage:
        return  # of the sentence, not to be typed: an option is named, and not its value
    assert not left, words


def _known(service: str, operation: str, words: list[str]) -> None:
    options = {word.removeprefix("--") for word in words if word.startswith("--")}
    if service == "s3":
        assert operation in {"cp", "sync", "ls", "rm"}
        return
    model = AWS.get_service_model(service)
    if operation == "wait":
        waiters = AWS.get_waiter_model(service)
        name = {xform_name(one, "-"): one for one in waiters.waiter_names}[words[0]]
        operation = xform_name(waiters.get_waiter(name).operation, "-")
    called = {xform_name(one, "-"): one for one in model.operation_names}[operation]
    shape = model.operation_model(called).input_shape
    parameters = {xform_name(one, "-") for one in shape.members} if shape else set()
    named = {option.removeprefix("no-") for option in options - OF_EVERY_AWS_COMMAND}
    assert named <= parameters, (operation, named - parameters)
