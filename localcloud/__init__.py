"""AWS on one machine, as far as the queue needs it: see docs/local-cloud.md."""

from .cloud import DeploymentError, LocalCloud, StartError

__all__ = ["DeploymentError", "LocalCloud", "StartError"]
