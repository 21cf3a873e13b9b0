#!/usr/bin/python3 -B
"""Runs a job of .gitlab-ci.yml as GitLab's runner does: variables, shells, after_script, and cancelling.

usage: gitlab.py FILE JOB shell|container     in the folder that is the project; masked variables are MASKED_NAME

The runner writes before_script and script into one script, and after_script into another one, and pipes each into a
bash: with the shell executor a login shell in a process group of its own, else the first process of a container. If
the job is cancelled (here: SIGUSR1), it sends SIGTERM to the process group, or to the processes of the container, from
the last to the first, and waits up to 6 s for the end of each. The after_script runs in any case, and its status does
not count. What this file does not know in the YAML is a mistake.
"""
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import threading

import yaml

from known import only

CONTAINER = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", "exec /bin/bash"]


class Job:
    def __init__(self, pipeline, name, executor):
        job = only(pipeline[name], "variables", "before_script", "script", "after_script")
        self.scripts = {key: [str(line) for line in job.get(key, [])] for key in job if key != "variables"}
        self.executor = executor
        self.cancelled = threading.Event()
        self.variables = {"CI": "true", "GITLAB_CI": "true", "CI_JOB_ID": "4711", "CI_JOB_NAME": name,
                          "CI_JOB_URL": "https://git.example.com/shop/-/jobs/4711", "CI_PROJECT_DIR": os.getcwd()}
        self.variables |= {key[7:]: value for key, value in os.environ.items() if key.startswith("MASKED_")}
        for key, value in (pipeline.get("variables", {}) | job.get("variables", {})).items():
            self.variables[key] = re.sub(r"\$(\w+)|\$\{(\w+)\}",
                                         lambda match: self.variables.get(match[1] or match[2], ""), str(value))

    def run(self):
        status = self.run_script(self.scripts.get("before_script", []) + self.scripts["script"])
        cancelled = self.cancelled.is_set()
        print(f"== script: {'cancelled' if cancelled else status}", flush=True)
        if self.scripts.get("after_script"):
            self.cancelled.clear()
            print(f"== after_script: {self.run_script(self.scripts['after_script'])}", flush=True)
        return status != 0 or cancelled

    def run_script(self, lines):
        exports = [f"export {key}={shlex.quote(value)}" for key, value in self.variables.items()]
        commands = [command for line in lines for command in (f"echo {shlex.quote('$ ' + line)}", line)]
        body = "\n".join([*exports, f"cd {shlex.quote(os.getcwd())}", *commands])
        script = f"trap exit 1 TERM\nset -o pipefail -o errexit\n: | eval {shlex.quote(body)}\nexit 0\n"
        environment = {key: value for key, value in os.environ.items() if not key.startswith("MASKED_")}
        process = subprocess.Popen(["bash", "--login"] if self.executor == "shell" else CONTAINER, env=environment,
                                   stdin=subprocess.PIPE, text=True, preexec_fn=os.setpgrp)
        process.stdin.write(script)
        process.stdin.close()
        while process.poll() is None:
            if self.cancelled.wait(0.05):
                self.end(process)
        return process.returncode

    def end(self, process):
        if self.executor == "shell":
            os.killpg(process.pid, signal.SIGTERM)
        else:
            # What nsenter starts can become a child of the container's first process. In our process group that would make the
            # kernel send SIGHUP to all of the group, were one of its processes stopped.
            first = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
            subprocess.run(["nsenter", "--target", first, "--pid", "--mount", "sh", "-c",
                            'for pid in $(cd /proc && printf "%s\\n" [0-9]* | sort -rn); do'
                            '  [ "$pid" -gt 1 ] && [ "$pid" != $$ ] && kill -TERM "$pid" || continue;'
                            '  for try in 1 2 3 4 5 6; do [ ! -e "/proc/$pid" ] || sleep 1; done;'
                            ' done'], check=False, stderr=subprocess.DEVNULL, start_new_session=True)
        process.wait()


def main():
    file, name, executor = sys.argv[1:]
    job = Job(yaml.safe_load(pathlib.Path(file).read_text()), name, executor)
    signal.signal(signal.SIGUSR1, lambda *_: job.cancelled.set())
    return job.run()


if __name__ == "__main__":
    sys.exit(main())
