"""What docs/KUBERNETES.md and docs/SLURM.md show: checked against a part of Kubernetes' schema,
and run with stand-ins for Slurm's commands, which is skipped without ONNX Runtime."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

import clustered  # noqa: E402
from operated import LIBRARY, LIMIT, WEFT  # noqa: E402

# The part of the schema that is used: by path, the keys that there may be. "*" is any key.
LABELS = {"*": str}
META = {"name": str, "labels": LABELS}
PORT = {"name": str, "port": int, "targetPort": str}
PROBE = {
    "httpGet": {"path": str, "port": str},
    "periodSeconds": int,
    "timeoutSeconds": int,
    "failureThreshold": int,
}
CONTAINER = {
    "name": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": [{"name": str, "value": str, "valueFrom": {"fieldRef": {"fieldPath": str}}}],
    "ports": [{"name": str, "containerPort": int}],
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "resources": {"requests": LABELS, "limits": LABELS},
    "securityContext": {"allowPrivilegeEscalation": bool, "capabilities": {"drop": [str]}},
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}],
}
SELECTOR = {"matchLabels": LABELS}
POD = {
    "terminationGracePeriodSeconds": int,
    "securityContext": {"runAsNonRoot": bool, "runAsUser": int, "fsGroup": int},
    "containers": [CONTAINER],
    "volumes": [{"name": str, "secret": {"secretName": str, "defaultMode": int}}],
}
CLAIM = {
    "metadata": META,
    "spec": {"accessModes": [str], "resources": {"requests": LABELS}},
}
INGRESS = {"from": [{"podSelector": SELECTOR}], "ports": [{"protocol": str, "port": int}]}
KINDS = {
    ("v1", "Secret"): {"stringData": LABELS},
    ("v1", "Service"): {
        "spec": {
            "clusterIP": str,
            "publishNotReadyAddresses": bool,
            "selector": LABELS,
            "ports": [PORT],
        }
    },
    ("apps/v1", "StatefulSet"): {
        "spec": {
            "serviceName": str,
            "replicas": int,
            "podManagementPolicy": str,
            "selector": SELECTOR,
            "template": {"metadata": META, "spec": POD},
            "volumeClaimTemplates": [CLAIM],
        }
    },
    ("networking.k8s.io/v1", "NetworkPolicy"): {
        "spec": {"podSelector": SELECTOR, "policyTypes": [str], "ingress": [INGRESS]}
    },
    ("policy/v1", "PodDisruptionBudget"): {"spec": {"maxUnavailable": int, "selector": SELECTOR}},
}


def block(page, language):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    (found,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return found


def check(value, schema, path):
    """The places in @value that @schema does not know, or that have another type there."""
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [path]
        found = []
        for i, item in enumerate(value):
            found += check(item, schema[0], f"{path}/{i}")
        return found
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return [path]
        found = []
        for key, item in value.items():
            known = schema.get(key, schema.get("*"))
            found += [f"{path}/{key}"] if known is None else check(item, known, f"{path}/{key}")
        return found
    return [] if type(value) is schema else [path]


class Kubernetes(unittest.TestCase):
    def setUp(self):
        self.objects = list(yaml.safe_load_all(block("docs/KUBERNETES.md", "yaml")))
        self.pod = self.find("StatefulSet")["template"]["spec"]
        (self.container,) = self.pod["containers"]

    def find(self, kind, name="weft"):
        (spec,) = [
            one["spec"] for one in self.objects
            if one["kind"] == kind and one["metadata"]["name"] == name
        ]  # fmt: skip
        return spec

    def test_every_object_keeps_the_schema(self):
        for one in self.objects:
            schema = KINDS[one["apiVersion"], one["kind"]]
            common = {"apiVersion": str, "kind": str, "metadata": META}
            self.assertEqual(check(one, {**common, **schema}, one["kind"]), [])
        self.assertEqual(len(self.objects), 6)

    def test_objects_refer_to_what_is_there(self):
        labels = self.find("StatefulSet")["template"]["metadata"]["labels"]
        for kind, name in (("Service", "weft"), ("Service", "weft-nodes")):
            self.assertEqual(self.find(kind, name)["selector"], labels)
        for kind in ("StatefulSet", "PodDisruptionBudget"):
            self.assertEqual(self.find(kind)["selector"]["matchLabels"], labels)
        self.assertEqual(self.find("NetworkPolicy")["podSelector"]["matchLabels"], labels)
        governing = self.find("Service", self.find("StatefulSet")["serviceName"])
        self.assertEqual(governing["clusterIP"], "None")
        volumes = {volume["name"] for volume in self.pod["volumes"]} | {
            claim["metadata"]["name"] for claim in self.find("StatefulSet")["volumeClaimTemplates"]
        }
        self.assertEqual({mount["name"] for mount in self.container["volumeMounts"]}, volumes)
        ports = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        for probe in ("livenessProbe", "readinessProbe"):
            self.assertIn(self.container[probe]["httpGet"]["port"], ports)
        rules = self.find("NetworkPolicy")["ingress"]
        opened = {port["port"] for rule in rules for port in rule["ports"]}
        self.assertEqual(opened, {ports["http"], ports["cluster"]})
        self.assertGreater(self.pod["terminationGracePeriodSeconds"], 30)

    def test_the_program_knows_its_options(self):
        used = " ".join(self.container["args"])
        variables = {one["name"] for one in self.container["env"]}
        self.assertLessEqual(set(re.findall(r"\$\((\w+)\)", used)), variables)
        text = subprocess.run(
            [WEFT, "serve", "--help"], capture_output=True, text=True, check=True, timeout=LIMIT
        ).stdout
        for argument in self.container["args"]:
            self.assertIn(argument.partition("=")[0] + " ", text)


STAND_INS = {
    "scontrol": 'printf "one\\ntwo\\n"',
    "hostname": "echo 127.0.0.1",
    "srun": 'while [ "${1#--}" != "$1" ]; do shift; done\n'
    'trap "kill -TERM \\$one \\$two 2>/dev/null" TERM\n'
    'SLURMD_NODENAME=one "$@" & one=$!\nSLURMD_NODENAME=two "$@" & two=$!\n'
    "wait $one; wait $two; wait $one; wait $two",
}


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Slurm(unittest.TestCase):
    def members(self):
        done = subprocess.run(
            [WEFT, "cluster", f"file:{self.shared}/nodes", "--json"],
            capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
        listed = json.loads(done.stdout)["members"] if done.returncode == 0 else []
        return sorted((member["node"], member["state"]) for member in listed)

    def wait_for(self, members):
        end = time.monotonic() + LIMIT
        while (seen := self.members()) != members and time.monotonic() < end:
            self.assertIsNone(self.process.poll(), "the script has ended")
            time.sleep(0.2)
        self.assertEqual(seen, members)

    def kill_all(self):
        """The script and all that it has started, whatever is left of them."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def test_the_script_starts_a_cluster_and_ends_it(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        root = pathlib.Path(holder.name)
        self.shared = root / "shared"
        tools = root / "bin"
        tools.mkdir()
        (tools / "weft").symlink_to(os.path.abspath(WEFT))
        for name, text in STAND_INS.items():
            (tools / name).write_text(f"#!/bin/bash\n{text}\n")
            (tools / name).chmod(0o755)
        script = root / "weft.sh"
        script.write_text(block("docs/SLURM.md", "bash"))
        clustered.write_repository(root / "models")
        self.process = subprocess.Popen(
            ["bash", str(script)], cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", SLURM_JOB_ID="7",
                     SLURM_JOB_NODELIST="n[1-2]", WEFT_SHARED=str(self.shared), WEFT_PORT="0",
                     WEFT_ONNXRUNTIME=str(LIBRARY.resolve()), WEFT_CACHE=str(root / "cache")),
            start_new_session=True,
        )  # fmt: skip
        self.addCleanup(self.process.wait, LIMIT)
        self.addCleanup(self.kill_all)
        self.wait_for([("one", "ready"), ("two", "ready")])
        self.process.terminate()
        self.process.wait(LIMIT)
        self.assertEqual(self.members(), [])


if __name__ == "__main__":
    unittest.main()
