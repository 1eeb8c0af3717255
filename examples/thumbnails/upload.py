"""Uploads a picture to the local cloud, and prints what was made of it.

S3 tells nobody of uploads there. So the function hears of it from here, in S3's words.
"""

import io
import json
import sys
import time
from typing import Any

import boto3
from PIL import Image

from lifoq import LifoqError, Queue

try:
    queue = Queue.connect("thumbnails")
except LifoqError as error:
    sys.exit(str(error))

cloudformation: Any = boto3.client("cloudformation")
stack = cloudformation.describe_stacks(StackName="thumbnails")["Stacks"][0]
outputs = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
key, sequencer = "uploads/orange.png", f"{time.time_ns():X}"

file = io.BytesIO()
Image.new("RGB", (2048, 1024), "orange").save(file, "PNG")
s3: Any = boto3.client("s3")
s3.put_object(Bucket=outputs["Bucket"], Key=key, Body=file.getvalue())

told = {"bucket": {"name": outputs["Bucket"]}, "object": {"key": key, "sequencer": sequencer}}
functions: Any = boto3.client("lambda")
event = json.dumps({"Records": [{"s3": told}]})
functions.invoke(FunctionName=outputs["UploadsName"], Payload=event.encode())
print(queue.wait(f"{key}@{sequencer}", timeout=60))  # noqa: T201 - the answer
