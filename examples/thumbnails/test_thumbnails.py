"""The task code, with S3 as moto plays it."""

import io

import boto3
import pytest
from moto import mock_aws
from PIL import Image

import tasks

PICTURE = {"bucket": "pictures", "key": "uploads/cat.png"}


@pytest.fixture
def s3(monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket="pictures")
        file = io.BytesIO()
        Image.new("RGB", (2048, 1024), "orange").save(file, "PNG")
        client.put_object(Bucket="pictures", Key=PICTURE["key"], Body=file.getvalue())
        yield client


def test_a_second_attempt_goes_on_after_the_sizes_that_are_made(
    s3, lifoq_queue, lifoq_host, lifoq_run, monkeypatch
):
    shrunk, widths = tasks.shrunk, []

    def failing_once(picture, width):
        widths.append(width)
        if widths == [1024, 512]:
            raise MemoryError("as it happens")
        return shrunk(picture, width)

    monkeypatch.setattr(tasks, "shrunk", failing_once)
    lifoq_queue.put("thumbnails.make", PICTURE, task_id="cat")

    assert lifoq_run().retried == 1
    lifoq_host.advance(60)
    assert lifoq_run().succeeded == 1

    assert widths == [1024, 512, 512, 128]
    made = lifoq_queue.wait("cat", timeout=1)
    small = s3.get_object(Bucket="pictures", Key=made["128"])["Body"].read()
    assert Image.open(io.BytesIO(small)).size == (128, 64)
