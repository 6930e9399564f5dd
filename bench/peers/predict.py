"""What the simulator expects of a run of Weft, from profiles measured before it."""

import json
import pathlib
import re
import subprocess
import typing

import content
import servers

SIM_S = 120


class Model(typing.NamedTuple):
    """A repository as a scenario, as `weft serve` would run it."""

    scenario: dict
    folder: pathlib.Path  # For the profile and traces.


def workflow_documents(arm):
    if arm.work in content.WORKFLOWS:
        return [str(content.demo_repository.DEMO / f"{arm.work}.workflow.yaml")]
    return [{"workflow": name, "tasks": {"run": {"model": name}}} for name in content.ZOO]


def policy_of(place, arm, served):
    """The policy that was served with; refusing is part of it unless it was switched off."""
    policy = served["policy"]
    if "--no-admission" in arm.options or "admit=" in policy:
        return policy
    if "=" not in policy:
        listed = subprocess.run([place.weft, "policies"], capture_output=True, text=True).stdout
        roles = re.search(rf"(?m)^{policy} +((?:\w+, )*\w+)  ", listed)[1]
        policy = ",".join(f"{role}={policy}" for role in roles.split(", "))
    return policy + ",admit=deadline"


def machine_memory():
    """What a worker has where settings say nothing: its part of half of the machine's."""
    text = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    return int(text.split()[1]) * 1024 // 2


def prepare(place, arm, folder):
    """Let Weft measure what @arm serves, and keep the profile as it is before any load."""
    [port, metrics] = servers.free_ports(2)
    command = servers.weft_command(place, arm, port, metrics)
    repository = pathlib.Path(command[2])
    content.clear(repository / "profiles")
    command = [word for word in command if word != "--plain"] + ["--json", "--seconds", "1"]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=servers.READY_S
    )
    if not done.stdout:
        raise servers.Missing(servers.install.last_line(done.stderr))
    served = json.loads(done.stdout)["served"]
    [profile] = (repository / "profiles").glob("*.profile.json")
    folder.mkdir(parents=True, exist_ok=True)
    content.demo_repository.put(profile, folder / "measured.profile.json")
    measured = json.loads(profile.read_text(encoding="utf-8"))
    [device] = {kind for model in measured["models"].values() for kind in model.get("devices", {})}
    workers = served["workers"]
    memory = content.MEMORY_FOR_FOUR if arm.work == "four" else machine_memory() // workers
    scenario = {
        "scenario": f"predicted-{arm.work}",
        "cluster": {"machines": {
            "count": 1, "devices": workers, "cpu": workers,
            "device": {"kind": device, "memory": memory, "h2d": 0},
        }},
        "workflows": workflow_documents(arm), "profile": "measured.profile.json",
        "policy": policy_of(place, arm, served), "warmup": "0%",
    }  # fmt: skip
    return Model(scenario, folder)


class Arrivals(typing.NamedTuple):
    times: list  # In seconds.
    names: list  # Of workflows.
    items: int  # Of each.


def predict(place, model, arrivals, deadline_ms):
    """Mean and p99 that the simulator gives for @arrivals."""
    rows = [f"{1000 * at:.6f},{name},{arrivals.items}"
            for at, name in zip(arrivals.times, arrivals.names)]  # fmt: skip
    (model.folder / "trace.csv").write_text("\n".join(["t_ms,workflow,items", *rows, ""]), "ascii")
    described = {"kind": "trace", "trace": "trace.csv"}
    if deadline_ms:
        described["deadline"] = f"{deadline_ms}ms"
    path = model.folder / "scenario.json"
    path.write_text(json.dumps({**model.scenario, "arrivals": described}, indent=1), "utf-8")
    done = subprocess.run(
        [place.weft, "sim", path, "--json"], capture_output=True, text=True, timeout=SIM_S
    )
    if done.returncode != 0:
        return {"prediction": servers.install.last_line(done.stderr)}
    found = json.loads(done.stdout)
    latency = found["latency_ms"]
    return {"predicted_mean_ms": latency["mean"], "predicted_p99_ms": latency["p99"],
            "predicted_completed": found["completed"]}  # fmt: skip
