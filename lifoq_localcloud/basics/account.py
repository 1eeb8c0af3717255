"""The one account and region that the local cloud has."""

ACCOUNT = "123456789012"
REGION = "us-east-1"
