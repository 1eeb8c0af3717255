"""JSON text as an item holds it."""

from hypothesis import given
from hypothesis import strategies as st

from lifoq.items.packed import SHORT, pack, unpack
from lifoq.items.schema import MAX_ITEM_BYTES


@given(st.text(max_size=2_000), st.integers(1, 50))
def test_a_text_reads_back_and_never_takes_more_room_than_before(text, times):
    whole = text * times
    packed = pack(whole)
    assert unpack(packed) == whole
    size = len(packed.encode() if isinstance(packed, str) else packed)
    assert size <= len(whole.encode())


def test_short_text_stays_readable_and_longer_text_is_compressed():
    assert pack("x" * SHORT) == "x" * SHORT
    assert pack("ü" * (SHORT // 2)) == "ü" * (SHORT // 2)
    assert isinstance(pack("x" * (SHORT + 1)), bytes)
    assert isinstance(pack("ü" * (SHORT // 2 + 1)), bytes)


def test_what_no_item_could_hold_is_not_made_to_fit():
    assert isinstance(pack("x" * MAX_ITEM_BYTES), bytes)
    assert isinstance(pack("x" * (MAX_ITEM_BYTES + 1)), str)
