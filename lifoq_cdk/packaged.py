"""Packages of code, as the CDK deploys them."""

from pathlib import Path

from aws_cdk import aws_lambda as lambda_

from lifoq_project import asset
from lifoq_project.asset import Asset
from lifoq_project.requirements import Architecture


def with_lifoq(
    folder: str | Path, *, architecture: lambda_.Architecture = lambda_.Architecture.ARM_64
) -> lambda_.AssetCode:
    """Return the code of a Lambda function of your own that uses the library, such as a producer.

    In it are the folder under its own name (``handler="producer.handler.handle"``), lifoq, and what
    the folder's ``requirements.txt`` asks for, as wheels for Lambda's Python 3.14 on the
    function's ``architecture``. Raises ``AssetError`` and ``RequirementsError``.

    Examples:
        >>> shop = lambda_.Function(
        ...     stack,
        ...     "Shop",
        ...     runtime=lambda_.Runtime.PYTHON_3_14,
        ...     architecture=lambda_.Architecture.ARM_64,
        ...     code=with_lifoq("producer"),
        ...     handler="producer.handler.handle",
        ... )
        >>> grant = queue.grant_put(shop)
    """
    return deployed(asset.build(Path(folder).resolve(), architecture=architecture_of(architecture)))


def deployed(package: Asset) -> lambda_.AssetCode:
    """An unchanged package is not deployed again, whatever its file's name."""
    return lambda_.Code.from_asset(str(package.path), asset_hash=package.digest)


def architecture_of(architecture: lambda_.Architecture) -> Architecture:
    return "arm64" if architecture.name == "arm64" else "x86_64"
