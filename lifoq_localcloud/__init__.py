"""AWS on one machine, as far as the queue needs it: see docs/local-cloud.md.

The rooms, from the lowest to the highest; none imports from a higher one:

- ``basics``: account, credentials, folder, threads, timer.
- ``http_server``: port, bodies of requests, the gate against pages of browsers.
- ``tables``: a table's items in their order, the journal of its writes, exports.
- ``table_rules``: what DynamoDB refuses before it looks at an item.
- ``expressions``: DynamoDB's expressions, read and evaluated.
- ``item_requests``: the answers to operations on items.
- ``functions``: Lambda functions as processes, their pool and runtime API.
- ``events``: stream and queue pollers, scheduler, notifications, HTTP APIs.
- ``moto_adapter``: what moto has stored, and what is changed in moto.
- ``deployments``: CloudFormation's stacks, and the runtime that follows them.
- ``api``: the AWS API in front of moto: signatures, the record of calls.
- ``cloud``: :class:`LocalCloud`, with which demo, tests and commands start and use one.
- ``dev``: reload, logs and the debugger of ``lifoq dev``.

On top lie the process of a cloud (``serve``) and the commands (``commands``).
"""

from lifoq_localcloud.cloud import DeploymentError, LocalCloud, StartError

__all__ = ["DeploymentError", "LocalCloud", "StartError"]
