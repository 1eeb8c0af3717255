"""The items of a DynamoDB table, its writes, and what is read from them.

    write → ``rows`` (the items, each index in its ``order``)
          → ``journal`` → ``exports`` (point-in-time exports to S3)
                        → stream pollers (room ``events``)

``dynamodb_json`` is the form that values have in answers, stream records and exports.
"""
