"""An application of what CDK users have beside a queue, by aws-cdk-lib's own constructs."""

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as event_targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as functions
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_notifications as notifications
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as scheduler_targets
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_ssm as ssm
from aws_cdk import aws_stepfunctions as states
from aws_cdk import aws_stepfunctions_tasks as state_tasks

INLINE = "def handler(event, context): pass"


def build() -> cdk.Stack:
    stack = cdk.Stack(cdk.App(), "Common")
    dead = sqs.Queue(stack, "Dead", retention_period=cdk.Duration.days(14))
    queue = sqs.Queue(
        stack,
        "Queue",
        dead_letter_queue=sqs.DeadLetterQueue(max_receive_count=3, queue=dead),
        visibility_timeout=cdk.Duration.minutes(5),
        enforce_ssl=True,
    )
    fifo = sqs.Queue(
        stack, "Fifo", fifo=True, deduplication_scope=sqs.DeduplicationScope.MESSAGE_GROUP
    )
    topic = sns.Topic(stack, "Topic", display_name="Words", tracing_config=sns.TracingConfig.ACTIVE)
    between = sns.SubscriptionFilter.numeric_filter(between=sns.BetweenCondition(start=1, stop=2))
    topic.add_subscription(
        subscriptions.SqsSubscription(
            queue,
            filter_policy={
                "kind": sns.SubscriptionFilter.string_filter(match_prefixes=["p"]),
                "number": between,
            },
            dead_letter_queue=dead,
        )
    )
    table = dynamodb.Table(
        stack,
        "Table",
        partition_key=dynamodb.Attribute(name="a", type=dynamodb.AttributeType.STRING),
        sort_key=dynamodb.Attribute(name="b", type=dynamodb.AttributeType.NUMBER),
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
        encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED,
        time_to_live_attribute="ttl",
    )
    table.add_global_secondary_index(
        index_name="by-c",
        partition_key=dynamodb.Attribute(name="c", type=dynamodb.AttributeType.BINARY),
    )
    function = functions.Function(
        stack,
        "Function",
        runtime=functions.Runtime.PYTHON_3_13,
        handler="index.handler",
        code=functions.Code.from_inline(INLINE),
        timeout=cdk.Duration.seconds(300),
        memory_size=10_240,
        ephemeral_storage_size=cdk.Size.gibibytes(2),
        logging_format=functions.LoggingFormat.JSON,
        architecture=functions.Architecture.ARM_64,
        environment={"QUEUE_URL": queue.queue_url},
        dead_letter_queue=dead,
        reserved_concurrent_executions=1,
        recursive_loop=functions.RecursiveLoop.ALLOW,
        vpc=ec2.Vpc(stack, "Network", max_azs=2),
    )
    function.add_function_url(auth_type=functions.FunctionUrlAuthType.NONE)
    functions.Alias(stack, "Alias", alias_name="prod", version=function.current_version)
    function.add_event_source(
        sources.SqsEventSource(
            queue,
            batch_size=100,
            max_batching_window=cdk.Duration.seconds(5),
            report_batch_item_failures=True,
            max_concurrency=2,
        )
    )
    function.add_event_source(sources.SqsEventSource(fifo, batch_size=10))
    only_new = functions.FilterCriteria.filter(
        {"eventName": functions.FilterRule.is_equal("INSERT")}
    )
    function.add_event_source(
        sources.DynamoEventSource(
            table,
            starting_position=functions.StartingPosition.TRIM_HORIZON,
            bisect_batch_on_error=True,
            retry_attempts=3,
            filters=[only_new],
            on_failure=sources.SqsDlq(dead),
        )
    )
    bucket = s3.Bucket(
        stack,
        "Bucket",
        versioned=True,
        lifecycle_rules=[s3.LifecycleRule(expiration=cdk.Duration.days(3))],
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        enforce_ssl=True,
        event_bridge_enabled=True,
    )
    bucket.add_event_notification(
        s3.EventType.OBJECT_CREATED,
        notifications.LambdaDestination(function),
        s3.NotificationKeyFilter(prefix="in/"),
    )
    events.Rule(
        stack,
        "Rule",
        event_pattern=events.EventPattern(
            source=events.Match.prefix("shop."),
            detail={
                "a": events.Match.anything_but("x", "y"),
                "b": events.Match.interval(1, 5),
                "c": events.Match.any_of(events.Match.wildcard("a*"), events.Match.exists()),
                "d": {"e": events.Match.anything_but_wildcard("s*")},
            },
        ),
        targets=[event_targets.LambdaFunction(function, dead_letter_queue=dead)],
    )
    rate = events.Schedule.rate(cdk.Duration.minutes(1))
    events.Rule(stack, "Clock", schedule=rate, targets=[event_targets.SnsTopic(topic)])
    _states(stack, function, table)
    scheduler.Schedule(
        stack,
        "Schedule",
        schedule=scheduler.ScheduleExpression.cron(
            minute="0/5", time_zone=cdk.TimeZone.EUROPE_BERLIN
        ),
        target=scheduler_targets.SqsSendMessage(queue),
        time_window=scheduler.TimeWindow.flexible(cdk.Duration.minutes(5)),
    )
    role = iam.Role(
        stack,
        "Role",
        assumed_by=iam.CompositePrincipal(
            iam.ServicePrincipal("lambda.amazonaws.com"), iam.AccountRootPrincipal()
        ),
        path="/shop/",
    )
    allowed = iam.PolicyStatement(actions=["s3:*"], resources=[bucket.bucket_arn])
    iam.ManagedPolicy(stack, "Policy", statements=[allowed], roles=[role])
    ssm.StringListParameter(stack, "Parameter", string_list_value=["a", "b"])
    logs.LogGroup(stack, "Logs", retention=logs.RetentionDays.TEN_YEARS)
    return stack


def _states(stack: cdk.Stack, function: functions.Function, table: dynamodb.Table) -> None:
    call = state_tasks.LambdaInvoke(stack, "Call", lambda_function=function)
    call.add_catch(states.Fail(stack, "Failed"), errors=["States.ALL"])
    call.add_retry(max_attempts=2)
    each = states.Map(stack, "Each", items_path="$.all").item_processor(states.Pass(stack, "One"))
    both = states.Parallel(stack, "Both")
    both.branch(states.Pass(stack, "Left")).branch(states.Succeed(stack, "Right"))
    write = state_tasks.DynamoPutItem(
        stack,
        "Write",
        table=table,
        item={"a": state_tasks.DynamoAttributeValue.from_string("x")},
    )
    choice = states.Choice(stack, "Choice")
    choice.when(states.Condition.string_equals("$.a", "b"), each.next(both).next(write))
    choice.otherwise(states.Succeed(stack, "Done"))
    pause = states.Wait(stack, "Pause", time=states.WaitTime.duration(cdk.Duration.seconds(1)))
    states.StateMachine(
        stack,
        "Machine",
        definition_body=states.DefinitionBody.from_chainable(pause.next(call).next(choice)),
        timeout=cdk.Duration.minutes(5),
    )
