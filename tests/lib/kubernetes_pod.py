#!/usr/bin/python3
"""Checks a manifest against the types of Kubernetes' client library, and becomes one of its containers.

usage: kubernetes_pod.py check FILE              names the first mistake, if there is one
       kubernetes_pod.py run FILE CONTAINER      as root, in a process and mount namespace of its own

A container's program is the first process of its namespace and is started without a shell, with the variables of the
manifest. Here the root folder is this machine's; it is read-only, but for this folder. Each secret has one key,
`password`, with the value `secret`; its volume is laid out as the kubelet does it.
"""
import ctypes
import os
import pathlib
import re
import subprocess
import sys

import yaml
from kubernetes.client import models


def check(value, kind, path):
    """kind: a type as the library writes it, such as dict(str, str), list[V1Container], int or V1Pod."""
    inner = re.fullmatch(r"(list|dict)[\[(](?:str, )?(.*)[\])]", kind)
    if inner and inner[1] == "list":
        wanted(value, list, path)
        for number, item in enumerate(value):
            check(item, inner[2], f"{path}[{number}]")
    elif inner:
        wanted(value, dict, path)
        for key, item in value.items():
            check(item, inner[2], f"{path}.{key}")
    elif kind in ("str", "int", "bool"):
        wanted(value, {"str": str, "int": int, "bool": bool}[kind], path)
    else:
        wanted(value, dict, path)
        model = getattr(models, kind)
        names = {there: here for here, there in model.attribute_map.items()}
        for key, item in value.items():
            if key not in names:
                sys.exit(f"{path}: {kind} has no {key}")
            check(item, model.openapi_types[names[key]], f"{path}.{key}")
        try:
            model(**{names[key]: item for key, item in value.items()})  # what is required, and allowed
        except ValueError as error:
            sys.exit(f"{path}: {error}")


def wanted(value, kind, path):
    if type(value) is not kind:
        sys.exit(f"{path}: {value!r} is no {kind.__name__}")


def pod_of(manifest):
    group, _, version = manifest["apiVersion"].rpartition("/")
    if (group, version, manifest["kind"]) not in (("apps", "v1", "Deployment"), ("batch", "v1", "CronJob")):
        sys.exit(f"unknown kind: {manifest['apiVersion']} {manifest['kind']}")
    check(manifest, f"V1{manifest['kind']}", manifest["kind"])
    spec = manifest["spec"]
    if manifest["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    elif not spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items():
        sys.exit("the selector does not match the labels of the template")
    pod = spec["template"]["spec"]
    volumes = {volume["name"] for volume in pod.get("volumes", [])}
    for container in containers(pod):
        for mount in container.get("volumeMounts", []):
            if mount["name"] not in volumes:
                sys.exit(f"there is no volume {mount['name']}")
    return pod


def containers(pod):
    return pod.get("initContainers", []) + pod["containers"]


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def lay_out_secret(volume, folder, group):
    """The kubelet writes the files into a folder of their own, to which links lead."""
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", folder)
    (folder / "..2026").mkdir()
    (folder / "..2026" / "password").write_text("secret")
    os.chown(folder / "..2026" / "password", 0, group)
    (folder / "..2026" / "password").chmod(volume["secret"]["defaultMode"])
    (folder / "..data").symlink_to("..2026")
    (folder / "password").symlink_to("..data/password")


def run(pod, name):
    container, = (each for each in containers(pod) if each["name"] == name)
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    security = pod["securityContext"] | container["securityContext"]
    mount("--bind", ".", ".")
    for each in container["volumeMounts"]:
        folder = pathlib.Path(each["mountPath"])
        folder.mkdir(parents=True, exist_ok=True)
        lay_out_secret(volumes[each["name"]], folder, security["fsGroup"])
    if security["readOnlyRootFilesystem"]:
        mount("-o", "remount,bind,ro", "/")
    os.chdir(os.getcwd())  # the mount that is still writable
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOSTNAME": os.uname().nodename}
    environment |= {each["name"]: each["value"] for each in container["env"]}
    words = [re.sub(r"\$\((\w+)\)", lambda match: environment.get(match[1], match[0]), word)
             for word in container["command"] + container.get("args", [])]
    if not security["allowPrivilegeEscalation"]:
        ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    os.setgroups([security["fsGroup"]])
    os.setgid(0)
    os.setuid(security["runAsUser"])
    os.execvpe(words[0], words, environment)


def main():
    what, file, *rest = sys.argv[1:]
    pod = pod_of(yaml.safe_load(pathlib.Path(file).read_text()))
    if what == "run":
        run(pod, *rest)


if __name__ == "__main__":
    main()
