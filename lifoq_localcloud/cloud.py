"""The local cloud, as tests use it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from botocore.exceptions import ClientError

from lifoq_localcloud.basics.account import ACCOUNT, REGION
from lifoq_localcloud.basics.clients import Clients
from lifoq_localcloud.basics.credentials import Credentials, without_proxy
from lifoq_localcloud.basics.folder import private_file
from lifoq_localcloud.functions import processes
from lifoq_localcloud.functions.asynchronous import FIRST_RETRY_SECONDS
from lifoq_project import cdk_cli

START_SECONDS = 60.0
STOP_SECONDS = 5.0
DEPLOY_SECONDS = 600.0

CDK_LOG = "cdk.log"
_TOOLKIT = "CDKToolkit"
"""The stack of ``cdk bootstrap``."""
_OF_BOOTSTRAP = ("bootstrapQualifier", "toolkitStackName", "toolkitBucket", '"tags"')
"""The settings of the CDK CLI that ``cdk bootstrap`` looks at."""

_ROOT = Path(__file__).resolve().parent.parent


class StartError(Exception):
    """The local cloud did not come up."""


class DeploymentError(Exception):
    """The CDK CLI could not deploy."""


class DeploymentInterrupted(DeploymentError):
    """The CDK CLI was ended before it was done."""


class LocalCloud:
    """Runs a local cloud while it is entered; leaving ends it and every process under it."""

    def __init__(
        self,
        directory: Path,
        port: int = 0,
        *,
        ttl_delay_seconds: float = 0.0,
        first_retry_seconds: float = FIRST_RETRY_SECONDS,
        stream_pause_seconds: float = 0.0,
    ) -> None:
        self.directory = directory.resolve()
        self._port = port
        self._ttl_delay = ttl_delay_seconds
        self._first_retry = first_retry_seconds
        self._stream_pause = stream_pause_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._clients: Clients | None = None
        self._deploying: set[subprocess.Popen[str]] = set()
        self._interrupted = False

    @classmethod
    def at(cls, directory: Path) -> Self:
        """One that somebody else runs there: to be used, and not to be entered."""
        cloud = cls(directory)
        cloud._clients = Clients(Credentials.read(cloud.directory))
        return cloud

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        with private_file(self._log).open("ab") as log:
            begin = log.tell()
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [
                    sys.executable,
                    "-m",
                    __package__,
                    "serve",
                    f"--port={self._port}",
                    f"--directory={self.directory}",
                    f"--ttl-delay={self._ttl_delay}",
                    f"--first-retry={self._first_retry}",
                    f"--stream-pause={self._stream_pause}",
                    "--until-stdin-closes",
                ],
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        try:
            self._await_start(self._process, begin)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self._clients = Clients(Credentials.read(self.directory))
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None

    @property
    def endpoint(self) -> str:
        """The address of the AWS API: ``http://localhost:PORT``."""
        return self._entered.credentials.endpoint

    @property
    def _log(self) -> Path:
        """The cloud's own. A second one in the folder writes into it why it was refused."""
        return self.directory / "localcloud.log"

    @property
    def logs(self) -> Path:
        """A folder with one file per function."""
        return self.directory / "logs"

    @property
    def calls(self) -> Path:
        """The record of every API call, as JSON lines."""
        return self.directory / "calls.jsonl"

    def environment(self) -> dict[str, str]:
        """Return the environment variables with which a program works with this cloud, and with no
        other."""
        return {**self._entered.credentials.environment(), **without_proxy(os.environ)}

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments with which boto3's clients and ``Queue.connect`` reach it."""
        return self._entered.credentials.arguments()

    def client(self, service: str) -> Any:
        """A boto3 client."""
        return self._entered(service)

    def deploy(self, assembly: Path, *stacks: str) -> None:
        """Deploy a synthesized assembly with the CDK CLI: these stacks, or all of them."""
        self._bootstrap()
        self._cdk(
            "deploy",
            f"--app={assembly}",
            *(stacks or ("--all",)),
            "--method=direct",
            "--require-approval=never",
            "--asset-parallelism",
            "--concurrency=2",
        )

    def deploy_application(
        self, folder: Path, hear: Callable[[str], None] = lambda _line: None
    ) -> None:
        """Deploy all stacks of the CDK application in a folder, as its cdk.json runs it. What the
        CDK CLI says goes into a file; it is the DeploymentError's, where it fails. ``hear`` is
        called with each line of it at once."""
        self._bootstrap(cwd=folder, hear=hear)
        said = self._cdk("deploy", "--all", "--require-approval=never", cwd=folder, hear=hear)
        private_file(self.directory / CDK_LOG).write_text(said)

    def cdk(self, assembly: Path, *arguments: str) -> str:
        """Run the CDK CLI on an assembly against this cloud. What it wrote; or DeploymentError."""
        return self._cdk(*arguments, f"--app={assembly}")

    def _bootstrap(
        self, cwd: Path | None = None, hear: Callable[[str], None] = lambda _line: None
    ) -> None:
        """Do what ``cdk bootstrap`` does. The command takes seconds for it, so it is run only where
        the project's settings tell it something."""
        if self._is_bootstrapped():
            return
        environment = f"aws://{ACCOUNT}/{REGION}"
        if cwd is not None and _tells_how_to_bootstrap(cwd):
            # Without an empty "--app" the command would run the application, too.
            self._cdk("bootstrap", environment, "--app=", cwd=cwd, hear=hear)
            return
        try:
            self._create_toolkit(cdk_cli.bootstrap_template().read_text())
        except (cdk_cli.CdkUnavailable, OSError, ClientError) as error:
            raise DeploymentError(f"cdk bootstrap failed: {error}") from error
        hear(f" ✅  Environment {environment} bootstrapped.\n")

    def _create_toolkit(self, template: str) -> None:
        """Create the stack of ``cdk bootstrap``. If that fails, nothing is left of it."""
        api = self.client("cloudformation")
        with contextlib.suppress(api.exceptions.AlreadyExistsException):  # another was faster
            api.create_stack(
                StackName=_TOOLKIT,
                TemplateBody=template,
                Parameters=[
                    {
                        "ParameterKey": "FileAssetsBucketKmsKeyId",
                        "ParameterValue": "AWS_MANAGED_KEY",
                    }
                ],
                Capabilities=["CAPABILITY_NAMED_IAM"],
            )
        if not self._is_bootstrapped():
            events = api.describe_stack_events(StackName=_TOOLKIT)["StackEvents"]
            reasons = (one.get("ResourceStatusReason") for one in events)
            api.delete_stack(StackName=_TOOLKIT)
            raise DeploymentError(f"cdk bootstrap failed: {' '.join(filter(None, reasons))}")

    def _cdk(
        self,
        *arguments: str,
        cwd: Path | None = None,
        hear: Callable[[str], None] = lambda _line: None,
    ) -> str:
        try:
            command = cdk_cli.command(*arguments, "--no-notices", "--ci", "--no-color")
            environment = cdk_cli.environment()
        except cdk_cli.CdkUnavailable as error:
            raise DeploymentError(str(error)) from error
        environment.pop("AWS_PROFILE", None)
        process = subprocess.Popen(  # noqa: S603 - our own arguments
            command,
            cwd=cwd or self.directory,
            env={
                # The CDK's rules for templates take longer than all else in a deployment here.
                "CDK_VALIDATION": "false",
                **environment,
                **self.environment(),
                "CDK_DISABLE_VERSION_CHECK": "true",
                "CDK_DEFAULT_ACCOUNT": ACCOUNT,
                "CDK_DEFAULT_REGION": REGION,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # Its end is ours to make: a terminal's Ctrl-C would have it clean up for long.
            start_new_session=True,
        )
        said = self._await_cdk(process, hear)
        if self._interrupted:
            raise DeploymentInterrupted(f"cdk {arguments[0]} was interrupted")
        if process.returncode:
            ended = f"ended with status {process.returncode}, and said nothing"
            raise DeploymentError(f"cdk {arguments[0]} failed:\n{said.strip() or ended}")
        return said

    def _await_cdk(self, process: subprocess.Popen[str], hear: Callable[[str], None]) -> str:
        """Wait for the CDK CLI and return its output, of which ``hear`` is told line by line. All
        processes that it started end with it."""
        if process.stdout is None:
            raise DeploymentError("the CDK CLI was started without a pipe for its output")
        late = threading.Timer(DEPLOY_SECONDS, processes.end, [process.pid])
        late.daemon = True
        late.start()
        self._deploying.add(process)
        said = []
        try:
            if self._interrupted:  # before it could be found among these
                processes.end(process.pid)
            for line in process.stdout:
                said.append(line)
                hear(line)
            process.wait()
        except BaseException:
            processes.end(process.pid)
            process.wait()
            raise
        finally:
            self._deploying.discard(process)
            process.stdout.close()
            late.cancel()
        return "".join(said)

    def interrupt(self) -> None:
        """End what the CDK CLI does, now and from now on: whoever waits for it is told by
        DeploymentInterrupted."""
        self._interrupted = True
        for process in list(self._deploying):
            processes.end(process.pid)

    def outputs(self, stack_name: str) -> dict[str, str]:
        """The outputs of a deployed stack."""
        stack = self.client("cloudformation").describe_stacks(StackName=stack_name)["Stacks"][0]
        return {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])}

    def processes(self, function_name: str) -> list[int]:
        """The process ids of a function's instances."""
        found: list[int] = self._status()["functions"][function_name]
        return found

    def kill_function(self, function_name: str) -> list[int]:
        """SIGKILL to every instance of a function. The process ids that there were."""
        killed: list[int] = self._control("kill", {"function": function_name})
        return killed

    def set_faults(
        self,
        *,
        drop_notifications: float = 0.0,
        drop_stream_records: float = 0.0,
        seed: int = 0,
    ) -> None:
        """From now on lose these fractions of what goes to functions; zero ends it."""
        self._control(
            "faults",
            {
                "drop_notifications": drop_notifications,
                "drop_stream_records": drop_stream_records,
                "seed": seed,
            },
        )

    def not_imitated(self) -> list[str]:
        """List the parts of the deployed templates that are neither run nor imitated."""
        lines: list[str] = self._status()["not_imitated"]
        return lines

    @property
    def _entered(self) -> Clients:
        if self._clients is None:
            raise StartError("The local cloud has not been entered.")
        return self._clients

    def _is_bootstrapped(self) -> bool:
        stacks = self.client("cloudformation").describe_stacks()["Stacks"]
        done = ("CREATE_COMPLETE", "UPDATE_COMPLETE")
        return any(
            stack["StackName"] == _TOOLKIT and stack["StackStatus"] in done for stack in stacks
        )

    def _status(self) -> dict[str, Any]:
        status: dict[str, Any] = self._control("status", {})
        return status

    def _control(self, action: str, arguments: dict[str, Any]) -> Any:
        url, data = f"{self.endpoint}/_localcloud/{action}", json.dumps(arguments).encode()
        headers = self._entered.credentials.signed(url, data)
        request = urllib.request.Request(url, data, headers)  # noqa: S310 - our own endpoint
        # Whatever HTTP_PROXY says: it leads elsewhere.
        straight = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with straight.open(request, timeout=30) as answer:
            return json.load(answer)

    def _await_start(self, process: subprocess.Popen[bytes], begin: int) -> None:
        """The first line that the program prints says that it is there; where there is none, its
        log says why, from ``begin`` on."""
        if process.stdout is None:
            raise StartError("The local cloud was started without a pipe for its output.")
        guard = threading.Timer(START_SECONDS, process.kill)
        guard.start()
        line = process.stdout.readline().decode()
        guard.cancel()
        if " at http" in line:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait()
        complaint = self._log.read_bytes()[begin:].decode(errors="replace").strip()
        raise StartError(f"The local cloud did not start: {complaint}")


def _tells_how_to_bootstrap(folder: Path) -> bool:
    """Return True if a file of settings that the CDK CLI reads has a word for ``cdk bootstrap``."""
    files = (folder / "cdk.json", folder / "cdk.context.json", Path.home() / ".cdk.json")
    texts = [file.read_text(errors="replace") for file in files if file.is_file()]
    return any(word in text for word in _OF_BOOTSTRAP for text in texts)
