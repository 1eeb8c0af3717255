"""The table of what can be changed of a resource, against the schemas of CloudFormation."""

import pytest
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

from lifoq_localcloud.deployments.resources import changes, types
from tests.localcloud import changes_page

BY_ITS_PAGE = {"AWS::DynamoDB::Table": {"LocalSecondaryIndexes"}}
"""Properties that CloudFormation's reference says to be replaced by, and the schema does not."""


@pytest.mark.parametrize("name", types.changeable())
def test_what_is_replaced_here_is_replaced_by_cloudformation(name):
    kind = types.changeable()[name]
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", name).schema
    always, sometimes = (
        {path.split("/")[2] for path in schema.get(key, [])}
        for key in ("createOnlyProperties", "conditionalCreateOnlyProperties")
    )
    assert always <= changes.replacing(kind)
    assert changes.replacing(kind) <= always | sometimes | BY_ITS_PAGE.get(name, set())
    assert changes.in_place(kind) <= schema["properties"].keys() - always
    assert not changes.in_place(kind) & changes.replacing(kind)


def test_the_page_has_the_table():
    text = changes_page.PAGE.read_text()
    assert text == changes_page.page(text), "run python -m tests.localcloud.changes_page"
