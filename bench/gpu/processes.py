"""Processes with a limit of time."""
import os
import signal
import subprocess


def run_limited(command, seconds, **environment):
    """(output, None), or (None, why there is none). The whole process group ends with its limit."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, start_new_session=True, env=os.environ | environment)
    try:
        out, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, f"not done in {seconds:g} s"
    if process.returncode:
        return None, f"ended with {process.returncode}: {errors.strip()[-300:]}"
    return out, None
