"""Makes thumbnails of a picture in a bucket."""

import io
from typing import Any

import boto3
from PIL import Image

from lifoq import Context, task

WIDTHS = (1024, 512, 128)


@task("thumbnails.make", timeout=60, max_attempts=3)
def make(payload: Any, context: Context) -> Any:
    s3: Any = boto3.client("s3")
    bucket, key = payload["bucket"], payload["key"]
    original = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    made: dict[str, str] = context.last_checkpoint or {}
    for width in WIDTHS:
        if str(width) in made:
            continue
        name = f"thumbnails/{width}/{key}"
        s3.put_object(Bucket=bucket, Key=name, Body=shrunk(original, width))
        made[str(width)] = name
        context.checkpoint(made)
    return made


def shrunk(picture: bytes, width: int) -> bytes:
    with Image.open(io.BytesIO(picture)) as image:
        image.thumbnail((width, width))
        file = io.BytesIO()
        image.convert("RGB").save(file, "JPEG")
    return file.getvalue()
