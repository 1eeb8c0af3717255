"""The terms of a put: every door has those that the table gives it, and no others."""

import ast
import dataclasses
import inspect
import io
import itertools
import json
import textwrap
from datetime import UTC, datetime
from typing import Any, get_type_hints

import aws_cdk as cdk
import pytest
from click.testing import CliRunner
from rich.console import Console

from lifoq import InvalidInput, Lifetimes, NewTask, Queue, every
from lifoq.api import answers, fields, requests
from lifoq.client.producer import Producer
from lifoq.ingest.mapping import IngestMapping
from lifoq.ingest.message import Message
from lifoq.items.put_terms import (
    TERMS,
    Choice,
    Count,
    Door,
    Json,
    Moment,
    Rule,
    Seconds,
    SecondsOrMoment,
    Term,
    Text,
    Trace,
    at,
)
from lifoq.items.schema import Attribute, Preview
from lifoq.items.task import IfExists, Task
from lifoq.items.traceparent import EXAMPLE
from lifoq.schedules import event as events
from lifoq.schedules.memory import MemoryGroup
from lifoq.schedules.schedules import Schedules
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from lifoq_cdk import RecurringTask
from lifoq_cli import app
from lifoq_cli import put as command
from lifoq_cli import tasks as shown
from lifoq_cli.session import Session
from lifoq_console.putting import Form
from tests.docs import terms as pages

LATER = datetime(2030, 1, 1, tzinfo=UTC)
VALUES: dict[type[Rule], Any] = {
    Json: {"n": 1},
    Text: "some",
    Trace: EXAMPLE,
    Choice: "replace",
    Count: 3,
    Seconds: 20,
    SecondsOrMoment: 30,
    Moment: LATER,
}
"""The values that the tests put, by the rule of the term: none is its default."""
ANNOTATIONS: dict[type[Rule], Any] = {
    Json: Any,
    Text: str | None,
    Trace: str | None,
    Choice: IfExists,
    Count: int | None,
}
TYPE = {"task_type": "some"}


def value(term: Term) -> Any:
    return VALUES[type(term.rule)]


def terms_with(term: Term) -> dict[str, Any]:
    """The term, with what it cannot do without."""
    beside = {"task_id": "some"} if term.name == "if_exists" else {}
    return {**TYPE, **beside, term.name: value(term)}


def queue() -> Queue:
    lifetimes = Lifetimes(task_tokens=True)
    return Queue(Store(MemoryTable(), lifetimes=lifetimes, host=ManualHost()))


class Put(Exception):
    """Raised in place of a put, with what would have been put."""


class Taker(Producer):
    """In place of a queue."""

    def _put(self, new: NewTask) -> Task:
        raise Put(new)

    def put_many(self, tasks: list[NewTask], **_: Any) -> None:
        raise Put(*tasks)


def by_put(term: Term) -> NewTask:
    with pytest.raises(Put) as put:
        Taker().put(**terms_with(term))
    (new,) = put.value.args
    return new


def by_http(term: Term) -> NewTask:
    names = {term.name: term.at(Door.HTTP) for term in at(Door.HTTP)}
    return requests.new_task({names[name]: it for name, it in terms_with(term).items()})


def by_message(term: Term) -> NewTask:
    """The attributes of some services are always text."""
    found = {"attributes.taskType": "some"}
    if term.name == "if_exists":
        return IngestMapping(if_exists="'replace'", task_id="'some'").new_task(message({}))
    if isinstance(term.rule, Json):
        return IngestMapping().new_task(message(found, body=value(term)))
    found[term.at(Door.MESSAGE).split(" ||")[0]] = str(value(term))
    return IngestMapping().new_task(message(found, body=None))


def message(found: dict[str, str], *, body: Any = None) -> Message:
    given = {name.removeprefix("attributes."): text for name, text in found.items()}
    return Message(id=None, body=body, attributes={"taskType": "some", **given}, about={})


def by_command(term: Term, *arguments: str, lines: str | None = None) -> NewTask:
    said = []
    for one in at(Door.COMMAND):
        if one.name in (given := terms_with(term)):
            text = given[one.name]
            text = json.dumps(text) if isinstance(one.rule, Json) else str(text)
            name = one.at(Door.COMMAND)
            said += [f"{name}={text}"] if name.startswith("--") else []
            arguments = (*arguments, *(() if name.startswith("--") else (text,)))
    asked = ["--lines"] if lines is not None else [*arguments, *said]
    session = Session()
    session.__dict__["queue"] = Taker()  # in place of one that it would connect
    ran = CliRunner().invoke(app.root, ["put", *asked], obj=session, input=lines)
    assert isinstance(ran.exception, Put), ran.output
    (task,) = ran.exception.args
    return task


def by_line(term: Term) -> NewTask:
    return by_command(term, lines=json.dumps(terms_with(term), default=datetime.isoformat))


def by_form(term: Term) -> NewTask:
    texts = {
        name: json.dumps(it) if name == "payload" else str(it)
        for name, it in terms_with(term).items()
    }
    return Form.sent({name: [text] for name, text in texts.items()}).new_task()


def by_schedule(term: Term) -> NewTask:
    given = terms_with(term)
    given.pop("task_id", None)
    for name, it in given.items():
        if isinstance(it, int) and not isinstance(term.rule, Count):
            given[name] = cdk.Duration.seconds(it)
    return events.new_task(RecurringTask(name="some", schedule="rate(1 hour)", **given).event())


def by_schedule_of_a_client(term: Term) -> NewTask:
    given = {name: it for name, it in terms_with(term).items() if name != "task_id"}
    schedule = Queue.in_memory(host=ManualHost()).schedules.put("some", every(3600), **given)
    return events.filled(schedule.task, scheduled=LATER)


def by_schedule_command(term: Term) -> NewTask:
    given = {name: it for name, it in terms_with(term).items() if name != "task_id"}
    words = [
        given.pop("task_type"),
        *([json.dumps(it)] if (it := given.pop("payload", None)) else []),
    ]
    words += [f"{one.at(Door.COMMAND)}={given[one.name]}" for one in TERMS if one.name in given]
    here, session = queue(), Session()
    here.schedule_group = MemoryGroup(here.store.now)
    session.__dict__["queue"] = here
    ran = CliRunner().invoke(
        app.root, ["schedule", "put", "some", *words, "--every=1h"], obj=session
    )
    assert ran.exit_code == 0, ran.output
    schedule = here.schedules.get("some")
    assert schedule is not None
    return events.filled(schedule.task, scheduled=LATER)


MAKE_THEIR_ID = (by_schedule, by_schedule_of_a_client, by_schedule_command)
DOORS = {
    Door.LIBRARY: [by_put],
    Door.HTTP: [by_http],
    Door.MESSAGE: [by_message],
    Door.COMMAND: [by_command, by_line],
    Door.CONSOLE: [by_form],
    Door.RECURRING: [*MAKE_THEIR_ID],
}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_each_door_puts_a_task_with_each_of_its_terms(door, subtests):
    for put, term in itertools.product(DOORS[door], at(door)):
        if term.name == "task_id" and put in MAKE_THEIR_ID:
            continue
        with subtests.test(put=put.__name__, term=term.name):
            found = getattr(put(term), term.name)
            assert found == value(term)
            assert type(found) is type(value(term)) or isinstance(found, float)


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_door_without_a_term_refuses_it_by_name(term):
    camel = term.at(Door.RECURRING)
    if Door.HTTP not in term.doors:
        with pytest.raises(InvalidInput, match=f"{camel}=.*is unknown"):
            requests.new_task({"type": "some", camel: 1})
    if Door.RECURRING not in term.doors:
        with pytest.raises(InvalidInput, match="are unknown"):
            events.new_task({"taskType": "some", camel: 1})
    if Door.FOLLOW_UP not in term.doors:
        with pytest.raises(InvalidInput, match=term.name):
            follow_up(queue(), NewTask(**terms_with(term)))


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_term_reaches_the_task_by_put_put_many_follow_up_and_transaction(term):
    here, new = queue(), NewTask(**{**terms_with(term), "task_id": "t"})
    one = here.put(**{**terms_with(term), "task_id": "t"})
    (many,) = queue().put_many([new])
    found = [one, many.task, here.get("t")]
    if Door.FOLLOW_UP in term.doors:
        found.append(follow_up(queue(), new))
    assert len({tuple(getattr(task, name) for name in KEPT) for task in found}) == 1
    if term.attribute is not None:
        kept = {name: getattr(one, name) for name in KEPT}
        assert kept[term.name] == term.rule.kept(term.name, value(term))
        entry = queue().transaction_item(new)["Put"]["Item"]
        place = entry["preview"]["M"] if isinstance(term.attribute, Preview) else entry
        assert term.attribute in place


KEPT = [term.name for term in TERMS if term.attribute is not None]


def follow_up(here: Queue, new: NewTask) -> Task | None:
    here.put("first", task_id="first")
    task = here.store.claim("first", claim_id="c", lease=30)
    here.store.succeed(task, "null", [new])
    return here.get(str(new.task_id))


def test_terms_are_put_by_typed_keyword_arguments_in_the_order_of_the_table():
    *put, kick = list(inspect.signature(Producer.put).parameters.values())[1:]
    assert (kick.name, kick.default) == ("kick", False), "of the put, and not of the task"
    fields_ = dataclasses.fields(NewTask)
    names = [term.name for term in TERMS]
    assert [one.name for one in put] == [one.name for one in fields_] == names
    hints, types = get_type_hints(Producer.put), get_type_hints(NewTask)
    for term, argument, field in zip(TERMS, put, fields_, strict=True):
        absent = inspect.Parameter.empty
        default = absent if term.name == "task_type" else term.default
        assert argument.default == default
        assert field.default == (dataclasses.MISSING if default is absent else default)
        assert hints[term.name] == types[term.name]
        if term.name != "task_type" and type(term.rule) in ANNOTATIONS:
            assert types[term.name] == ANNOTATIONS[type(term.rule)]


def test_every_class_for_people_has_the_terms_of_its_door_with_their_sentences():
    assert documented(NewTask) == {term.name: term.meaning for term in TERMS}
    mapping = {one.name: one.default for one in dataclasses.fields(IngestMapping)}
    assert mapping == {term.name: term.at(Door.MESSAGE) for term in at(Door.MESSAGE)}
    recurring = {one.name for one in dataclasses.fields(RecurringTask)}
    own = {"name", "schedule", "time_zone"}
    terms = {term.name for term in at(Door.RECURRING)} - {"task_id"}
    assert recurring - own == terms
    assert {*inspect.signature(Schedules.put).parameters} - {"self", "name", "when"} == terms
    assert {*fields.TERMS} == {term.at(Door.HTTP) for term in at(Door.HTTP)}
    options = {one.name for one in command.put.params if one.expose_value}
    assert options - {"lines"} == {term.name for term in at(Door.COMMAND)}


def documented(cls: type) -> dict[str, str]:
    """The docstring of each field."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    pairs = zip(body.body, body.body[1:], strict=False)
    return {
        one.target.id: " ".join(text.value.value.split())
        for one, text in pairs
        if isinstance(one, ast.AnnAssign) and isinstance(text, ast.Expr)
    }


@pytest.mark.parametrize(
    "term", [term for term in TERMS if term.attribute is not None], ids=lambda term: term.name
)
def test_what_a_task_carries_is_seen_wherever_one_looks_at_it(term):
    task = queue().put(**terms_with(term))
    seen = answers.summary(task, now=0).get(term.at(Door.HTTP))
    assert seen == (value(term) if term.shown else None)
    assert shown.as_json(task)[term.name] == value(term)
    console = Console(file=io.StringIO(), width=200)
    shown.show(task, now=0)(console)
    assert (term.label in console.file.getvalue()) is term.shown


@pytest.mark.parametrize("name", pages.PAGES)
def test_the_pages_say_what_the_table_says(name):
    text = (pages.DOCS / name).read_text()
    assert text == pages.written(name), "run: python -m tests.docs.terms"


def test_every_field_of_look_and_every_attribute_of_a_term_is_one_terms_own():
    places = [term.attribute for term in TERMS if term.attribute is not None]
    assert len(places) == len(set(places))
    of_no_put = {Preview.ALONE}  # the worker writes it
    assert {place for place in places if isinstance(place, Preview)} == {*Preview} - of_no_put
    assert {place for place in places if isinstance(place, Attribute)} < {*Attribute}
