"""JSON text: exact both ways, and no longer in an item than it has to be."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifoq.basics import jsontext
from lifoq.errors import InvalidInput
from lifoq.items.packed import SHORT, pack, unpack
from lifoq.items.schema import MAX_ITEM_BYTES

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(10**300), max_value=10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(VALUES)
@settings(deadline=None, max_examples=50)
def test_a_value_reads_back_exactly(value):
    """Also -0.0, and 1 is not 1.0 or True."""
    assert repr(jsontext.decode(jsontext.encode(value, "payload"))) == repr(value)


def test_text_is_compact_and_deep_nesting_reads_back_exactly_up_to_the_limit():
    assert jsontext.encode({"a": [1, "é🐢"]}, "payload") == '{"a":[1,"é🐢"]}'
    value = []
    for _ in range(jsontext.MAX_DEPTH):
        value = [value]
    assert jsontext.decode(jsontext.encode(value, "payload")) == value
    with pytest.raises(InvalidInput, match="200 levels"):
        jsontext.encode([value], "payload")


# As an item holds it


@given(st.text(max_size=2_000), st.integers(1, 50))
@settings(deadline=None)
def test_a_text_reads_back_and_never_takes_more_room_than_before(text, times):
    whole = text * times
    packed = pack(whole)
    assert unpack(packed) == whole
    size = len(packed.encode() if isinstance(packed, str) else packed)
    assert size <= len(whole.encode())


def test_short_text_stays_readable_longer_is_compressed_and_what_no_item_holds_is_not_made_to_fit():
    assert pack("x" * SHORT) == "x" * SHORT
    assert pack("ü" * (SHORT // 2)) == "ü" * (SHORT // 2)
    assert isinstance(pack("x" * (SHORT + 1)), bytes)
    assert isinstance(pack("ü" * (SHORT // 2 + 1)), bytes)
    assert isinstance(pack("x" * MAX_ITEM_BYTES), bytes)
    assert isinstance(pack("x" * (MAX_ITEM_BYTES + 1)), str)
