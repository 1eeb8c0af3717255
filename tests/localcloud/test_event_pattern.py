"""The patterns that event source mappings filter by."""

from typing import Any

import pytest

from localcloud.moto_adapter import passes

RECORD = {
    "eventName": "MODIFY",
    "userIdentity": {"type": "Service"},
    "dynamodb": {
        "NewImage": {"status": {"S": "PENDING"}, "n": {"N": "12"}, "flag": {"BOOL": True}},
        "OldImage": {"status": {"S": "TAKEN"}},
        "SizeBytes": 300,
    },
}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ({"eventName": ["INSERT", "MODIFY"]}, True),
        ({"eventName": ["REMOVE"]}, False),
        ({"dynamodb": {"NewImage": {"status": {"S": ["PENDING"]}}}}, True),
        ({"dynamodb": {"NewImage": {"status": {"S": ["PEND"]}}}}, False),
        ({"dynamodb": {"NewImage": {"n": {"N": [12]}}}}, False),
        ({"dynamodb": {"NewImage": {"flag": {"BOOL": [True]}}}}, True),
        ({"dynamodb": {"OldImage": {"status": {"S": [{"anything-but": ["PENDING"]}]}}}}, True),
        ({"dynamodb": {"OldImage": {"status": {"S": [{"anything-but": "TAKEN"}]}}}}, False),
        ({"dynamodb": {"OldImage": {"status": {"S": [{"anything-but": {"prefix": "T"}}]}}}}, False),
        ({"dynamodb": {"OldImage": {"other": {"S": [{"anything-but": ["x"]}]}}}}, False),
        ({"dynamodb": {"OldImage": {"status": {"S": [{"prefix": "TA"}]}}}}, True),
        ({"dynamodb": {"OldImage": {"status": {"S": [{"suffix": "EN"}]}}}}, True),
        ({"dynamodb": {"OldImage": {"status": {"S": [{"equals-ignore-case": "taken"}]}}}}, True),
        ({"dynamodb": {"SizeBytes": [{"numeric": [">", 100, "<=", 300]}]}}, True),
        ({"dynamodb": {"SizeBytes": [{"numeric": ["<", 300]}]}}, False),
        ({"userIdentity": {"principalId": [{"exists": False}]}}, True),
        ({"userIdentity": {"type": [{"exists": True}]}}, True),
        ({"dynamodb": {"Keys": {"id": {"S": [{"exists": False}]}}}}, True),
        ({"$or": [{"eventName": ["REMOVE"]}, {"eventName": ["MODIFY"]}]}, True),
        ({"eventName": ["MODIFY"], "dynamodb": {"NewImage": {"n": {"N": ["13"]}}}}, False),
    ],
)
def test_a_pattern_accepts_what_eventbridge_would(
    pattern: dict[str, Any], *, expected: bool
) -> None:
    assert passes((pattern,), RECORD) is expected
