#!/usr/bin/python3 -B
"""Runs the only job of a workflow as the runner of GitHub Actions does: steps, shells, variables, files and conditions.

usage: actions.py WORKFLOW     in the folder that is the workspace; secrets are the variables SECRET_NAME

The runner starts a step's shell as a child, with pipes and a closed standard input. If the run is cancelled (here:
SIGUSR1) and the step's condition does not hold any more, it sends SIGINT to that child alone, after SIGINT_S (7.5)
seconds SIGTERM, after SIGTERM_S (2.5) more SIGKILL, and goes on with the other steps. When the job ends, it kills the
processes that have its RUNNER_TRACKING_ID. Whatever a workflow contains that this file does not know is a mistake.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import uuid

import yaml

from known import only

BUILT_IN = {None: "bash -e {0}", "bash": "bash --noprofile --norc -e -o pipefail {0}", "sh": "sh -e {0}"}
CALLS = ("always", "cancelled", "failure", "success")
TOKEN = re.compile(r"\s*(?:(&&|\|\||[!()]|==|!=)|'((?:[^']|'')*)'|([A-Za-z_][\w.-]*))")


class Job:
    def __init__(self, workflow):
        # YAML 1.1 takes `on` for true.
        only(workflow, "name", True, "jobs")
        (name, job), = workflow["jobs"].items()
        self.job = only(job, "runs-on", "timeout-minutes", "env", "defaults", "steps")
        defaults = only(job.get("defaults", {}), "run").get("run", {})
        self.shell = only(defaults, "shell").get("shell")
        self.temporary = pathlib.Path(tempfile.mkdtemp(dir="."))
        self.status = "success"
        self.cancelled = threading.Event()
        self.tracking = f"github_{uuid.uuid4()}"
        self.contexts = {
            "secrets": {key[7:]: value for key, value in os.environ.items() if key.startswith("SECRET_")},
            "github": {"repository": "shop/site", "run_id": "4711", "run_attempt": "1", "job": name},
            "env": {},
            "steps": {},
        }
        self.contexts["env"] |= self.filled(job.get("env", {}))

    def value(self, expression):
        """Evaluates an expression of names, strings, the status functions, !, &&, ||, == and !=."""
        words, at = [], 0
        while expression[at:].strip():
            match = TOKEN.match(expression, at) or sys.exit(f"actions.py: cannot read {expression[at:]!r}")
            at = match.end()
            operator, text, name = match.groups()
            if operator:
                words.append({"&&": " and ", "||": " or ", "!": " not "}.get(operator, operator))
            elif text is not None:
                words.append(repr(text.replace("''", "'")))
            elif name in CALLS:
                words.append(f"call[{name!r}]")
            else:
                words.append(repr(self.look_up(name)))
        call = {name: lambda name=name: self.holds(name) for name in CALLS}
        return eval("".join(words) or "''", {"call": call})

    def look_up(self, name):
        found = self.contexts
        for part in name.split("."):
            found = found.get(part, "") if isinstance(found, dict) else sys.exit(f"actions.py: there is no {name}")
        return found

    def holds(self, function):
        status = "cancelled" if self.cancelled.is_set() else self.status
        return function == "always" or function == status

    def condition(self, step):
        text = step.get("if", "success()")
        if text.startswith("${{"):
            text = text.strip("${} ")
        if not any(f"{name}()" in text for name in CALLS):
            text = f"success() && ({text})"
        return bool(self.value(text))

    def filled(self, variables):
        return {name: re.sub(r"\$\{\{(.*?)\}\}", lambda match: str(self.value(match[1])), str(text))
                for name, text in variables.items()}

    def run(self):
        for step in self.job["steps"]:
            self.run_step(only(step, "name", "id", "if", "uses", "shell", "env", "run"))
        self.end_orphans()
        return "cancelled" if self.cancelled.is_set() else self.status

    def run_step(self, step):
        name = step.get("name", step.get("uses"))
        if not self.condition(step):
            result = "skipped"
        elif "uses" in step:
            # The test has made the workspace.
            result = "success" if step["uses"].startswith("actions/checkout@") else sys.exit("actions.py: " + name)
        else:
            result = self.run_script(step)
        if result == "failure":
            self.status = "failure"
        print(f"== {name}: {result}", flush=True)

    def run_script(self, step):
        script = self.temporary / f"{uuid.uuid4()}.sh"
        script.write_text(step["run"])
        files = {name: self.temporary / f"{name}_{uuid.uuid4()}" for name in ("GITHUB_ENV", "GITHUB_OUTPUT")}
        for file in files.values():
            file.touch()
        shell = step.get("shell", self.shell)
        command, arguments = BUILT_IN.get(shell, shell).split(" ", 1)
        if "{0}" not in arguments:
            sys.exit(f"actions.py: no {{0}} in the shell {shell}")
        # .NET takes an argument string apart at blanks; only double quotes keep them.
        words = [word.replace('"', "") for word in
                 re.findall(r'(?:"[^"]*"|[^\s"])+', arguments.replace("{0}", str(script.resolve())))]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SECRET_")}
        environment |= self.contexts["env"] | self.filled(step.get("env", {}))
        environment |= {f"GITHUB_{key.upper()}": value for key, value in self.contexts["github"].items()}
        environment |= {key: str(file.resolve()) for key, file in files.items()}
        environment |= {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": os.getcwd(), "RUNNER_OS": "Linux",
                        "RUNNER_TEMP": str(self.temporary.resolve()), "RUNNER_TRACKING_ID": self.tracking}
        path = shutil.which(command, path=environment["PATH"]) or sys.exit(f"actions.py: there is no {command}")
        process = subprocess.Popen([path, *words], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        process.stdin.close()
        copying = threading.Thread(target=self.copy, args=(process.stdout,), daemon=True)
        copying.start()
        stopped = self.wait_for(process, step)
        # The runner does not wait longer for descendants that keep the pipe open.
        copying.join(5)
        if copying.is_alive():
            print("== a process keeps the output of the step open", flush=True)
        self.read_files(step, files)
        return "cancelled" if stopped else "success" if process.returncode == 0 else "failure"

    @staticmethod
    def copy(stream):
        for line in stream:
            print(line, end="", flush=True)

    def wait_for(self, process, step):
        """Returns whether the step was stopped."""
        # A step that starts after the run was cancelled is not stopped by that.
        if self.cancelled.is_set():
            process.wait()
            return False
        while not self.cancelled.is_set():
            try:
                process.wait(0.05)
                return False
            except subprocess.TimeoutExpired:
                pass
        if self.condition(step):
            process.wait()
            return False
        for number, patience in ((signal.SIGINT, os.environ.get("SIGINT_S", 7.5)),
                                 (signal.SIGTERM, os.environ.get("SIGTERM_S", 2.5)), (signal.SIGKILL, None)):
            process.send_signal(number)
            try:
                process.wait(patience and float(patience))
                break
            except subprocess.TimeoutExpired:
                pass
        return True

    def read_files(self, step, files):
        outputs = {}
        for file, into in ((files["GITHUB_ENV"], self.contexts["env"]), (files["GITHUB_OUTPUT"], outputs)):
            for line in file.read_text().splitlines():
                name, equals, value = line.partition("=")
                if not equals or "<<" in name:
                    sys.exit(f"actions.py: cannot read the line {line!r}")
                into[name] = value
        if "id" in step:
            self.contexts["steps"][step["id"]] = {"outputs": outputs}

    def end_orphans(self):
        mark = f"RUNNER_TRACKING_ID={self.tracking}".encode()
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    print(f"== ends the orphan {(folder / 'comm').read_text().strip()}", flush=True)
                    os.kill(int(folder.name), signal.SIGKILL)
            except OSError:
                pass


def main():
    job = Job(yaml.safe_load(pathlib.Path(sys.argv[1]).read_text()))
    signal.signal(signal.SIGUSR1, lambda *_: job.cancelled.set())
    result = job.run()
    print(f"== the job: {result}", flush=True)
    return result != "success"


if __name__ == "__main__":
    sys.exit(main())
