#!/usr/bin/env python3
"""Starts a program as the processes of one job, a GPU each, with the variables that torchrun sets.
Arguments: their number, or 0 for as many as there are GPUs; the program; its flags. Exit status: 77 with fewer GPUs
than processes or than two, else the first that is not 0."""
import os
import socket
import subprocess
import sys


def count_gpus():
    try:
        listed = subprocess.run(['nvidia-smi', '-L'], capture_output=True, text=True).stdout
    except OSError:
        return 0
    return sum(line.startswith('GPU ') for line in listed.splitlines())


def main():
    gpus = count_gpus()
    size = int(sys.argv[1]) or gpus
    if gpus < max(size, 2):
        print(f'SKIPPED: needs {max(size, 2)} GPUs, {gpus} here')
        return 77
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    meeting = {'WORLD_SIZE': str(size), 'MASTER_ADDR': '127.0.0.1', 'MASTER_PORT': str(port)}
    jobs = [subprocess.Popen(sys.argv[2:], env={**os.environ, **meeting, 'RANK': str(rank), 'LOCAL_RANK': str(rank)})
            for rank in range(size)]
    statuses = [job.wait() for job in jobs]
    return next((status for status in statuses if status), 0)


sys.exit(main())
