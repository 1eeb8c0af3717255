"""An order: reserved and paid side by side, then shipped; or undone."""

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as states

from lifoq_cdk import LifoQueue, TaskEvents, with_lifoq

app = cdk.App()
stack = cdk.Stack(app, "orders")

queue = LifoQueue(
    stack,
    "Queue",
    queue_name="orders",
    tasks="tasks",
    events=TaskEvents(topic=False, step_functions=True),
)
put = lambda_.Function(
    stack,
    "Put",
    runtime=lambda_.Runtime.PYTHON_3_14,
    code=with_lifoq("put"),
    handler="put.handler.handle",
    timeout=cdk.Duration.seconds(30),
)
queue.grant_put(put)


def task(name: str, task_type: str, within: str) -> states.LambdaInvoke:
    """A state that puts a task, and waits for its end."""
    return states.LambdaInvoke(
        stack,
        name,
        lambda_function=put,
        integration_pattern=sfn.IntegrationPattern.WAIT_FOR_TASK_TOKEN,
        payload=sfn.TaskInput.from_object(
            {
                "type": task_type,
                "payload": sfn.JsonPath.object_at("$.order"),
                "deadline": sfn.JsonPath.number_at(within),
                "token": sfn.JsonPath.task_token,
            }
        ),
        # A net below: the queue answers at the deadline, or when the task has run.
        task_timeout=sfn.Timeout.duration(cdk.Duration.hours(2)),
    )


prepare = sfn.Parallel(stack, "Prepare", result_path="$.prepared")
prepare.branch(task("Reserve", "stock.reserve", "$.reserveWithin"))
prepare.branch(task("Charge", "card.charge", "$.chargeWithin"))

undo = task("Undo what was done", "order.undo", "$.undoWithin")
refused = sfn.Fail(stack, "Refused", error_path="$.refused.Error", cause_path="$.refused.Cause")
# The compensation keeps the input, and why it was needed.
compensate = sfn.Parallel(stack, "Compensate", result_path=sfn.JsonPath.DISCARD).branch(undo)
prepare.add_catch(compensate.next(refused), result_path="$.refused")
ship = task("Ship", "order.ship", "$.shipWithin")

machine = sfn.StateMachine(
    stack, "Order", definition_body=sfn.DefinitionBody.from_chainable(prepare.next(ship))
)
cdk.CfnOutput(stack, "OrderArn", value=machine.state_machine_arn)
cdk.CfnOutput(stack, "SweepName", value=queue.sweep.function_name)

app.synth()
