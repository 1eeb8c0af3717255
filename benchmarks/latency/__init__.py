"""Latency: from a put to the start of its handler, hop by hop, on an idle queue."""
