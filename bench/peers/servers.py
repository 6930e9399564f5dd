"""The servers: how each is started for a kind of work, and stopped."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import typing

import content
import install
import load
from install import Missing
from processes import Tree

HERE = pathlib.Path(__file__).resolve().parent
READY_S = 240  # How long a server may take until its first answer.
LABELS = {
    "weft": "Weft", "triton": "Triton", "mosec": "mosec", "ray": "Ray Serve",
    "litserve": "LitServe", "bentoml": "BentoML", "mlserver": "MLServer", "kserve": "KServe",
}  # fmt: skip


class Place(typing.NamedTuple):
    """Where things lie."""

    weft: pathlib.Path  # The program.
    build: pathlib.Path  # Where it was built.
    folder: pathlib.Path  # For all that is made here.
    backends: typing.Optional[pathlib.Path]  # Of Triton, as the user names it.

    @property
    def environments(self):
        return self.folder / "env"

    @property
    def models(self):
        return self.folder / "models"

    @property
    def demo(self):
        return self.folder / "demo"

    def repository(self, server, work):
        return self.folder / "repositories" / server / work


class Arm(typing.NamedTuple):
    """One column of a comparison: a server, the work it does, and settings."""

    peer: str
    work: str  # identity, chain, all, four or a workflow.
    note: str = ""  # Behind the server's name, in tables.
    options: tuple = ()
    deadline_ms: int = 0  # Requests that take longer are of no use.

    @property
    def label(self):
        return LABELS[self.peer] + (f", {self.note}" if self.note else "")


def free_ports(count):
    """Ports that nothing listens on; they are closed again only when all are known."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def python_environment(place, peer):
    demo = place.demo
    return {
        **os.environ, "PYTHONPATH": str(HERE / "apps"), "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0", "BENTOML_DO_NOT_TRACK": "true",
        "MODELS": str(place.models), "FUNCTIONS": str(demo / "functions"),
        "WORKFLOWS": str(demo), "PATH": f"{place.environments / peer / 'bin'}:{os.environ['PATH']}",
    }  # fmt: skip


# Weft.


def weft_command(place, arm, port, metrics):
    work = "identity" if arm.work == "chain" else arm.work
    repository = place.repository("weft", work)
    if work == "identity":
        content.weft_identity(place.models, repository)
    elif work in ("all", "four"):
        memory = f"{content.MB_FOR_FOUR}MB" if work == "four" else None
        content.weft_zoo(place.models, repository, memory)
    else:
        content.weft_workflow(place.models, repository, work, place.demo)
    command = [place.weft, "serve", repository, "--http", f"127.0.0.1:{port}"]
    return [*command, "--metrics", f"127.0.0.1:{metrics}", "--plain", *arm.options]


# Triton.


def triton_backends(place):
    """A folder with the Python back end of the package, and the ONNX back end if it is there."""
    package = install.site_packages(place.environments, "triton") / "pytriton/tritonserver"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = package / "python_backend_stubs" / version / "triton_python_backend_stub"
    if not stub.exists():
        raise Missing(f"its Python back end does not know Python {version}")
    folder = place.folder / "triton-backends"
    if not (folder / "python" / stub.name).exists():
        shutil.copytree(package / "backends/python", folder / "python", dirs_exist_ok=True)
        shutil.copy(stub, folder / "python")
    link = folder / "onnxruntime"
    link.unlink(missing_ok=True)
    if place.backends:
        link.symlink_to((place.backends / "onnxruntime").resolve())
    return folder


def triton_environment(place):
    packages = install.site_packages(place.environments, "triton")
    environment = python_environment(place, "triton")
    environment["PYTHONPATH"] += f":{packages}"
    libraries = [packages / "nvidia_pytriton.libs", sysconfig.get_config_var("LIBDIR")]
    environment["LD_LIBRARY_PATH"] = ":".join(str(one) for one in libraries)
    return environment


def triton_repository(place, arm):
    work = "identity" if arm.work == "chain" else arm.work
    name = "triton" + "".join(arm.options).replace("--", "-")
    folder = content.clear(place.repository(name, f"{work}-{arm.deadline_ms}"))
    command = [install.python(place.environments, "triton"), HERE / "apps/triton_repository.py"]
    command += [work, folder, *arm.options]
    if work in content.WORKFLOWS:
        command += ["--sample", content.samples(place.demo, work)[0]]
    if arm.deadline_ms:
        command += ["--queue", str(1000 * arm.deadline_ms)]
    if not place.backends:
        command += ["--python"]
    done = subprocess.run(
        command, env=python_environment(place, "triton"), capture_output=True, text=True,
        timeout=READY_S,
    )  # fmt: skip
    if done.returncode != 0:
        raise Missing(install.last_line(done.stderr))
    return folder


def triton_command(place, arm, port):
    package = install.site_packages(place.environments, "triton") / "pytriton/tritonserver"
    program = package / "bin/tritonserver"
    program.chmod(0o755)
    command = [program, "--model-repository", triton_repository(place, arm)]
    command += ["--backend-directory", triton_backends(place), "--http-address", "127.0.0.1"]
    command += ["--http-port", port, "--allow-grpc=false", "--allow-metrics=false"]
    command += ["--log-info=false"]
    if "--limited" in arm.options:
        command += ["--rate-limit", "execution_count", "--rate-limit-resource", "core:2"]
    return command


# Servers in Python.


def python_command(place, arm, port):
    program = install.python(place.environments, arm.peer)
    app = HERE / "apps" / f"{arm.peer}_app.py"
    if arm.peer == "mosec":
        limit = arm.deadline_ms or 120000
        return [program, app, "--address", "127.0.0.1", "--port", port,
                "--timeout", limit, "--log-level", "error"]  # fmt: skip
    if arm.peer == "ray":
        limit = [arm.deadline_ms / 1000] if arm.deadline_ms else []
        return [program, app, arm.work, port, *limit]
    if arm.peer in ("litserve", "kserve"):
        return [program, app, port]
    if arm.peer == "bentoml":
        service = f"bentoml_app:{arm.work.capitalize()}"
        return [program, "-m", "bentoml", "serve", service, "--host", "127.0.0.1", "--port", port]
    folder = place.repository("mlserver", "identity")
    content.mlserver(folder)
    return [program, "-m", "mlserver.cli.main", "start", folder]


def mlserver_environment(port, metrics, grpc):
    names = {"HTTP_PORT": port, "METRICS_PORT": metrics, "GRPC_PORT": grpc, "HOST": "127.0.0.1",
             "PARALLEL_WORKERS": 0, "DEBUG": "false"}  # fmt: skip
    return {f"MLSERVER_{name}": str(value) for name, value in names.items()}


class Server:
    """A server that runs; it is paused while others are measured."""

    def __init__(self, place, arm, log, more=()):
        """For Weft, with @more words on its command line."""
        self.arm = arm
        self.port, self.metrics, grpc = free_ports(3)
        if arm.peer == "weft":
            command = [*weft_command(place, arm, self.port, self.metrics), *more]
            environment = os.environ
        elif arm.peer == "triton":
            install.install(place.environments, arm.peer)
            command, environment = triton_command(place, arm, self.port), triton_environment(place)
        else:
            install.install(place.environments, arm.peer)
            command = python_command(place, arm, self.port)
            environment = {**python_environment(place, arm.peer), "WORK": arm.work}
            environment |= mlserver_environment(self.port, self.metrics, grpc)
        self.began = time.monotonic()
        try:
            self.tree = Tree(command, environment, log)
        except OSError as error:
            raise Missing(f"it does not start: {error.strerror}") from error

    def wait(self, request):
        """Its first good answer, as outputs by name."""
        said = "no answer"
        while time.monotonic() < self.began + READY_S:
            if self.tree.has_ended():
                raise Missing(f"it ended: {self.tail()}")
            try:
                status, body = load.ask(self.port, request)
            except Missing as error:
                said = str(error)
            else:
                if status == 200:
                    self.ready_s = time.monotonic() - self.began
                    return load.read_answer(body)
                said = f"{status} {body[:200].decode('utf-8', 'replace')}"
            time.sleep(0.2)
        raise Missing(f"it was not ready after {READY_S} s: {said}")

    def tail(self):
        text = self.tree.log.read_text(encoding="utf-8", errors="replace")
        return install.last_line(text)[:200]

    def stop(self):
        self.tree.stop()
