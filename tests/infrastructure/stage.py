"""A deployed stage, driven from outside as a team would: tasks come in by every way, and are
asked for by every way."""

import json
import urllib.request
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from lifoq import Queue
from lifoq.operating.deployment import Deployment as Running
from lifoq_localcloud import LocalCloud
from tests.ends import TOKEN
from tests.fixtures import noise
from tests.infrastructure import roles
from tests.localcloud.harness import eventually

STAGE = "trial"
PAYLOAD = "what-nobody-should-read-in-a-log"
HERE = "us-east-1:123456789012"
LARGE = noise(40_000)
"""A payload that goes into the bucket."""
FORMS = {"S": {"secret": PAYLOAD}, "B": [PAYLOAD] * 100, "M": [LARGE]}
"""A payload of each form that an item has it in: text, compressed, in the bucket."""
FORM_KEY = "forms"
"""The key of the tasks that bring them."""
TYPE = {"taskType": {"DataType": "String", "StringValue": "acceptance.succeeds"}}


class Stage:
    """The deployed stage, driven from outside as a team would."""

    def __init__(self, cloud: LocalCloud) -> None:
        self.cloud = cloud
        self.table = cloud.outputs(f"lifoq-{STAGE}-state")["TableName"]
        self.queue = cloud.outputs(f"lifoq-{STAGE}-queue")
        parameter = cloud.client("ssm").get_parameter(Name=f"/lifoq/{STAGE}/deployment")
        deployed = Running.decode(parameter["Parameter"]["Value"], source="its parameter")
        generator = cloud.outputs(f"lifoq-{STAGE}-generator")["CreateTasksFunctionName"]
        self.functions = {**deployed.functions, "create_tasks": generator}
        self.dead_letters = deployed.dead_letters
        self.sent: list[str] = []
        """Tasks that were put by messages."""

    def put(self, task_type: str, task_id: str, payload: Any = None) -> dict[str, Any]:
        return self.invoke(
            "create_tasks", {"taskType": task_type, "taskId": task_id, "payload": payload}
        )

    def invoke(self, function: str, event: Any) -> dict[str, Any]:
        answer = self.cloud.client("lambda").invoke(
            FunctionName=self.functions[function], Payload=json.dumps(event).encode()
        )
        assert "FunctionError" not in answer, answer["Payload"].read()
        return json.loads(answer["Payload"].read())

    def http(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the queue over HTTP, and return its answer."""
        request = AWSRequest(
            method,
            self.queue["ApiUrl"] + path,
            headers={"Content-Type": "application/json"},
            data=None if body is None else json.dumps(body).encode(),
        )
        keys = self.cloud.arguments()
        signer = Credentials(keys["aws_access_key_id"], keys["aws_secret_access_key"])
        SigV4Auth(signer, "execute-api", keys["region_name"]).add_auth(request)
        sent = urllib.request.Request(  # noqa: S310 - our own endpoint
            request.url, data=request.data, headers=dict(request.headers), method=method
        )
        with urllib.request.urlopen(sent, timeout=300) as answer:  # noqa: S310
            return json.load(answer)

    def item(self, task_id: str) -> dict[str, Any]:
        answer = self.cloud.client("dynamodb").get_item(
            TableName=self.table, Key={"taskId": {"S": task_id}}, ConsistentRead=True
        )
        return answer.get("Item", {})

    def status(self, task_id: str) -> str | None:
        return self.item(task_id).get("taskStatus", {}).get("S")

    def until(self, task_id: str, status: str, *, sweeping: bool = False) -> None:
        def has_it() -> bool:
            if sweeping and self.status(task_id) != status:
                self.invoke("sweep", {})
            return self.status(task_id) == status

        eventually(has_it)

    def messages(self, queue_url: str) -> list[dict[str, Any]]:
        """Some of those in a queue, where they stay."""
        got = self.cloud.client("sqs").receive_message(
            QueueUrl=queue_url, MaxNumberOfMessages=10, VisibilityTimeout=0
        )
        return [json.loads(one["Body"]) for one in got.get("Messages", [])]

    def calls(self, function: str) -> set[roles.Call]:
        return roles.calls(self.cloud, self.functions[function])

    def policies(self, function: str) -> list[roles.Statement]:
        return roles.of_function(self.cloud, self.functions[function])


def hand_over(stage: Stage) -> None:
    """A state machine waits for a task with a payload of each form, and a topic tells of it; the
    last task is shed."""
    sns, sqs, states = map(stage.cloud.client, ("sns", "sqs", "stepfunctions"))
    sqs.create_queue(QueueName="ends")
    sns.subscribe(
        TopicArn=stage.queue["TaskEventsTopicArn"],
        Protocol="sqs",
        Endpoint=f"arn:aws:sqs:{HERE}:ends",
        Attributes={
            "FilterPolicy": json.dumps({"taskKey": [FORM_KEY]}),
            "RawMessageDelivery": "true",
        },
    )
    tokens = sqs.create_queue(QueueName="tokens")["QueueUrl"]
    wait = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
        "Parameters": {"QueueUrl": tokens, "MessageBody.$": "$$.Task.Token"},
        "End": True,
    }
    machine = states.create_state_machine(
        name="waits",
        definition=json.dumps({"StartAt": "Wait", "States": {"Wait": wait}}),
        roleArn=f"arn:aws:iam::{HERE.split(':')[1]}:role/waits",
    )["stateMachineArn"]
    queue = Queue.connect(STAGE)
    for form, payload in FORMS.items():
        states.start_execution(stateMachineArn=machine, name=form)
        (message,) = sqs.receive_message(QueueUrl=tokens, WaitTimeSeconds=20)["Messages"]
        sqs.delete_message(QueueUrl=tokens, ReceiptHandle=message["ReceiptHandle"])
        queue.put(
            "acceptance.succeeds", payload, task_id=form, key=FORM_KEY, task_token=message["Body"]
        )
        stage.until(form, "SUCCESS")
    queue.put("acceptance.succeeds", task_id="shed", deadline=0.000_001, task_token=TOKEN)
    while stage.item("shed"):
        stage.invoke("sweep", {})


def over_http(stage: Stage) -> None:
    """Everything that can be asked over HTTP."""
    assert stage.http("POST", "/tasks", {"type": "acceptance.succeeds", "id": "own"})["id"] == "own"
    tasks = [{"type": "acceptance.succeeds"}, {"type": "acceptance.succeeds", "delay": 60}]
    outcomes = stage.http("POST", "/tasks/batch", {"tasks": tasks})["outcomes"]
    delayed = outcomes[1]["task"]["id"]
    assert delayed in [one["id"] for one in stage.http("GET", "/tasks?status=DELAYED")["tasks"]]
    assert stage.http("POST", f"/tasks/{delayed}/cancel")["status"] == "CANCELLED"
    failed = [one["id"] for one in stage.http("GET", "/tasks?status=FAILURE")["tasks"]]
    assert "failure" in failed
    stage.http("POST", "/tasks/failure/redrive")
    stage.until("failure", "FAILURE")
    assert stage.http("GET", "/stats")["failure"] >= 1


def message(stage: Stage, body: Any = None, **attributes: Any) -> str:
    """A message that somebody sends to an SQS queue; its id."""
    sqs = stage.cloud.client("sqs")
    url = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    sent = sqs.send_message(
        QueueUrl=url,
        MessageBody=json.dumps(body or {"secret": PAYLOAD}),
        MessageAttributes=attributes or TYPE,
    )
    return str(sent["MessageId"])


def notification(stage: Stage) -> str:
    """Put a task by a message that is published to an SNS topic."""
    sent = stage.cloud.client("sns").publish(
        TopicArn=f"arn:aws:sns:{HERE}:news",
        Message=json.dumps({"secret": PAYLOAD}),
        MessageAttributes=TYPE,
    )
    return str(sent["MessageId"])


def event(stage: Stage) -> str:
    """Put a task by an event on EventBridge."""
    entry = {
        "Source": "com.example.shop",
        "DetailType": "acceptance.succeeds",
        "Detail": json.dumps({"secret": PAYLOAD}),
    }
    sent = stage.cloud.client("events").put_events(Entries=[entry])
    return str(sent["Entries"][0]["EventId"])
