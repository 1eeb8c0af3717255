"""Where moto is no DynamoDB."""

import pytest

MOTO_FAILS = {
    "test_a_comparison_with_another_type_does_not_hold": "compares them",
    "test_a_put_over_what_is_no_task_is_told_so": "compares what is of another type",
    "test_a_damaged_task_is_told_and_takes_no_slot": "compares another type",
    "test_a_transaction_of_just_below_4_mb_is_written": "takes more",
    "test_of_an_item_too_large_for_the_reason_a_tombstone_is_left": "miscounts",
    "test_an_item_too_large_for_the_reason_that_has_moved_on_is_not_buried": "miscounts",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if _is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _is_left_out(item: pytest.Item) -> bool:
    return getattr(item, "originalname", "") in MOTO_FAILS and "moto" in item.name
