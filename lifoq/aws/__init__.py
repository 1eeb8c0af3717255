"""How AWS is called: by boto3, or by lifoq's own client where lifoq owns the process."""
