"""The AWS API: one WSGI application in front of moto that sees every call once.

request → ``gateway`` → ``signatures`` (who signed it) → ``operations`` (which call it is)
        → ``calls`` (the record of all calls) → moto, a function, an export or an HTTP API
"""
