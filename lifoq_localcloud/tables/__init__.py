"""The writes of a DynamoDB table, and what is read from them.

    committed write → ``journal`` → ``exports`` (point-in-time exports to S3)
                                  → stream pollers (room ``events``)

``dynamodb_json`` is the form that values have in answers, stream records and exports.
"""
