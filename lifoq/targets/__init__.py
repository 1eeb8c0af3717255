"""Task types that are configured, not written: an HTTPS request, a Lambda function's run."""
