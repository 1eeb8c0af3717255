"""Task code that leans on native packages, as the local cloud runs it."""

import base64
import io

import psycopg
import requests
from cryptography.fernet import Fernet
from PIL import Image
from pydantic import BaseModel


class Order(BaseModel):
    width: int


def handle(event, _context):
    """Uses the compiled part of each package."""
    order = Order.model_validate(event)
    picture = Image.new("RGB", (640, 480), "orange")
    picture.thumbnail((order.width, order.width))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG")
    secret = Fernet(Fernet.generate_key())
    return {
        "size": picture.size,
        "jpeg": base64.b64encode(buffer.getvalue()[:2]).decode(),
        "decrypted": secret.decrypt(secret.encrypt(b"as it was")).decode(),
        "psycopg": psycopg.pq.__impl__,
        "requests": requests.Request("GET", "http://localhost", params=event).prepare().url,
        "from": Image.__file__,
    }
