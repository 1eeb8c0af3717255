"""AWS: how its APIs are called, and the queue's table and bucket there.

``client_choice`` decides who calls: boto3 (``boto3_clients``) in a process that a user owns,
lifoq's own client (``own_client``) in lifoq's own functions and ``lifoq work``. Above them:
``dynamo_calls``, ``topics`` and ``step_functions_calls`` for the own client; ``dynamo_table`` and
``bucket`` for the store. ``service_from_boto3`` makes the own client from a boto3 client. botocore
is imported in this room alone.
"""
