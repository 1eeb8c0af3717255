"""The adapter to moto: reads what was deployed, and mends what moto does otherwise than AWS.

moto answers the AWS API, and stores what is made through it. It runs no functions and follows no
streams, schedules, TTL or exports: the other rooms do, and ask ``deployed`` what there is, and
``deliveries`` to put something into moto's queues, topics and buckets. ``access_keys`` tells whose
calls are signed rightly.

``install`` replaces parts of moto, a module for each: DynamoDB's tables (``tables``,
``table_answers``), calls of functions (``function_calls``), subscriptions of functions to
topics (``subscriptions``), rules of EventBridge (``rules``), ``schedules``, state machines, and
what AWS would refuse (``refusals``). CloudFormation is in the room ``deployments``. A replacement
of something that this version of moto does not have raises AttributeError (``patch``).
"""
