"""The HTTP server, which knows nothing of AWS.

    request → ``listener`` (the port) → ``server`` → ``gate`` (no pages of browsers) →
    ``body`` (read in full, up to a bound) → an application

The application is the AWS API (room ``api``). The runtime API of a function's process (room
``functions``) has a server of its own behind the same gate.
"""
