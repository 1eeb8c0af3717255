"""Task code with native packages: in the asset for Lambda's processor, here for this one.

The packages are those of a real registry, fixed by the lock file beside the task code. They are
installed once; from then on uv's cache has them.
"""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lifoq_project import asset, requirements
from lifoq_project.requirements import Architecture, Platform, RequirementsError
from tests.localcloud.harness import CODE_BUCKET, Deployed
from tests.localcloud.template import function

TASKS = Path(__file__).with_name("native_tasks")
ELF_MACHINE: dict[Architecture, int] = {"arm64": 0xB7, "x86_64": 0x3E}
"""At byte 18 of every shared library."""
pytestmark = pytest.mark.prove
NO_NETWORK = ("Failed to fetch", "Failed to download", "Network connectivity is disabled")


@pytest.fixture(scope="module", autouse=True)
def _packages() -> None:
    """For both of Lambda's architectures and for this machine."""
    lock = requirements.locked(TASKS)
    platforms = [Platform.of_lambda("arm64"), Platform.of_lambda("x86_64")]
    for platform in [*platforms, Platform.of_this_machine()]:
        try:
            requirements.installed(lock, platform)
        except RequirementsError as error:
            if any(sign in str(error) for sign in NO_NETWORK):
                pytest.skip(f"no registry can be reached, and no cache has {lock}: {error}")
            raise


@pytest.mark.parametrize("architecture", ["arm64", "x86_64"])
def test_every_library_in_the_asset_is_for_lambdas_processor(architecture: Architecture) -> None:
    package = asset.build(TASKS, architecture=architecture)

    with zipfile.ZipFile(package.path) as archive:
        libraries = [name for name in archive.namelist() if ".so" in name]
        machines = {int.from_bytes(archive.read(name)[18:20], "little") for name in libraries}
    owners = {name.split("/")[0] for name in libraries}
    assert {
        "PIL",
        "charset_normalizer",
        "cryptography",
        "psycopg_binary",
        "pydantic_core",
    } <= owners
    assert machines == {ELF_MACHINE[architecture]}


def test_the_local_cloud_runs_the_same_asset_with_this_machines_wheels(deployed: Deployed) -> None:
    answer, error = run(deployed, "native", asset.build(TASKS).path.read_bytes(), {"width": "160"})

    assert error is None, answer
    here = requirements.installed(TASKS / requirements.LOCK, Platform.of_this_machine())
    assert answer == {
        "size": [160, 120],
        "jpeg": "/9g=",
        "decrypted": "as it was",
        "psycopg": "binary",
        "requests": "http://localhost/?width=160",
        "from": str(here / "PIL" / "Image.py"),
    }


def test_what_cannot_be_installed_here_fails_the_invocation_and_says_so(deployed: Deployed) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("native_tasks.py", "def handle(event, context): return event\n")
        archive.writestr("requirements.lock", f"absent==1.0 --hash=sha256:{64 * '0'}\n")
        archive.writestr("uv.toml", "no-index = true\n")

    answer, error = run(deployed, "absent", buffer.getvalue(), {})

    assert error == "Unhandled"
    assert answer["errorType"] == "Runtime.InvalidRequirements"
    assert "cannot be found for this machine" in answer["errorMessage"]
    assert "absent" in answer["errorMessage"]


def run(deployed: Deployed, stack: str, archive: bytes, event: Any) -> tuple[Any, str | None]:
    """What the handler of ``native_tasks`` in the archive answers, deployed as a stack."""
    deployed.client("s3").put_object(Bucket=CODE_BUCKET, Key=f"{stack}.zip", Body=archive)
    role = deployed.client("iam").get_role(RoleName=deployed.ids["Role"])["Role"]
    native = function(CODE_BUCKET, f"{stack}.zip", "handle", Timeout=30)
    native["Properties"] |= {"Handler": "native_tasks.handle", "Role": role["Arn"]}
    outputs = {"Name": {"Value": {"Ref": "Native"}}}
    body = json.dumps({"Resources": {"Native": native}, "Outputs": outputs})
    deployed.client("cloudformation").create_stack(StackName=stack, TemplateBody=body)
    answer = deployed.client("lambda").invoke(
        FunctionName=deployed.cloud.outputs(stack)["Name"], Payload=json.dumps(event)
    )
    return json.loads(answer["Payload"].read()), answer.get("FunctionError")
