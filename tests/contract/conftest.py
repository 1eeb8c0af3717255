"""Where moto is no DynamoDB."""

import pytest

MOTO_FAILS = {
    "test_a_comparison_with_another_type_does_not_hold": "compares them",
    "test_a_transaction_of_just_below_4_mb_is_written": "takes more",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if _is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _is_left_out(item: pytest.Item) -> bool:
    return getattr(item, "originalname", "") in MOTO_FAILS and "moto" in item.name
