"""The table of what can be changed of a resource, against the schemas of CloudFormation."""

import pytest

from lifoq_localcloud.deployments.resources import changes, types
from lifoq_localcloud.service_rules import templates
from tests.localcloud import changes_page


@pytest.mark.parametrize("name", types.changeable())
def test_what_is_changed_in_place_is_a_property_that_cloudformation_does_not_replace_by(name):
    kind = types.changeable()[name]
    known = templates.schema(name)["properties"]
    assert changes.in_place(kind) <= known.keys()
    assert changes.replacing(kind) <= known.keys()
    assert not changes.in_place(kind) & changes.replacing(kind)


def test_the_page_has_the_table():
    text = changes_page.PAGE.read_text()
    assert text == changes_page.page(text), "run python -m tests.localcloud.changes_page"
