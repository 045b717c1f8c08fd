#!/usr/bin/env python3
"""Jobs of several processes as a user starts them: exit statuses, who prints, and what becomes of a job of which one
process is killed or stops. Argument: the folder of the programs. Exit status 77: no MPI."""
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

BIN = sys.argv[1]
LEAF = os.path.join(BIN, 'skip_identity_leaf')
MPIRUN = ['mpirun', '-q', '--oversubscribe', '--bind-to', 'none']
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print('FAILED:', what)


def run(command, environment=None, timeout=120):
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env={**os.environ, **(environment or {})})


def mpirun(num_processes, *flags, program=LEAF, timeout=120, environment=None):
    return run([*MPIRUN, '-np', str(num_processes), program, '--comm', 'mpi', *flags], environment, timeout)


def one_line(result):
    lines = result.stdout.splitlines()
    check(len(lines) == 1, f'one line from rank 0 alone, got {lines} and {result.stderr}')
    return json.loads(lines[0]) if lines else {}


def test_outcomes_and_statuses():
    for flags, status, outcome in ((['--tp', '2', '--pp', '2'], 0, 'PASS'),
                                   (['--tp', '2', '--pp', '2', '--identity', 'skip'], 10, 'ERROR'),
                                   (['--tp', '2', '--pp', '1', '--identity', 'skip', '--recompute', 'nonreentrant',
                                     '--residual'], 11, 'WRONG_GRAD')):
        result = mpirun(4, *flags)
        check(result.returncode == status, f'{flags}: status {result.returncode}, expected {status}: {result.stderr}')
        check(one_line(result)['outcome'] == outcome, f'{flags}: {result.stdout}')
    result = mpirun(2, '--tp', '2', '--pp', '1', '--identity', 'skip', '--expect', 'ERROR:LEAF_INPLACE')
    check(result.returncode in (0, 1), result.stderr)
    local = run([LEAF, '--tp', '2', '--pp', '1', '--identity', 'skip', '--expect', 'ERROR:LEAF_INPLACE'])
    check(result.returncode == local.returncode, f'--expect: {result.returncode}, on threads {local.returncode}')


def test_too_few_processes():
    result = mpirun(2, '--tp', '2', '--pp', '2')
    check(result.returncode == 2 and 'has 4 ranks (tp x pp), but 2 processes were started' in result.stderr, result.stderr)
    alone = run([LEAF, '--comm', 'mpi', '--tp', '2', '--pp', '2'])
    check(alone.returncode == 2 and 'but 1 process was started; start 4' in alone.stderr, alone.stderr)


def test_a_launcher_that_mpi_does_not_know():
    result = run([LEAF, '--comm', 'mpi'], {'RANK': '1', 'WORLD_SIZE': '4'})
    check(result.returncode == 2 and 'torchrun started 4 processes, but MPI' in result.stderr, result.stderr)
    # mpirun within a job of torchrun is one that it knows.
    result = run([*MPIRUN, '-np', '1', LEAF, '--comm', 'mpi', '--tp', '1', '--pp', '1'], {'RANK': '1', 'WORLD_SIZE': '4'})
    check(result.returncode == 0, result.stderr)


def test_nccl_without_gpus_is_said_by_all():
    # The port stays held, by a socket that allows rank 0 to listen there, until the job is over.
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(('127.0.0.1', 0))
        meeting = {'WORLD_SIZE': '2', 'MASTER_ADDR': '127.0.0.1', 'MASTER_PORT': str(holder.getsockname()[1])}
        jobs = [subprocess.Popen([LEAF, '--tp', '2', '--pp', '1', '--comm', 'nccl', '--device', 'cuda'],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env={**os.environ, **meeting, 'RANK': str(rank)})
                for rank in range(2)]
        ends = [(*job.communicate(timeout=100), job.returncode) for job in jobs]
    check({status for _, _, status in ends} in ({0}, {77}), ends)
    if ends[0][2] == 77:
        check(ends[0][1] == ends[1][1] != '' and ends[0][0] == ends[1][0] == '', ends)
        check('--comm nccl: this build has none' in ends[0][1] or '2 NCCL ranks need 2 GPUs, ' in ends[0][1], ends)


def test_programs_that_are_one_process():
    meeting = {'RANK': '0', 'WORLD_SIZE': '2', 'MASTER_ADDR': '127.0.0.1', 'MASTER_PORT': '29500'}
    nccl = ['--comm', 'nccl', '--device', 'cuda']
    for command in ([os.path.join(BIN, 'culprit'), 'run', *nccl, '--out', '/nowhere/out'], [LEAF, '--worker', *nccl]):
        result = run(command, meeting)
        check(result.returncode == 2 and 'torchrun started this as one of 2 processes' in result.stderr, result.stderr)
    result = mpirun(2, '--worker')
    check(result.returncode == 2 and '--worker takes its ranks as threads' in result.stderr, result.stderr)


def test_processes_that_were_started_differently():
    base = ['-np', '1', LEAF, '--comm', 'mpi', '--tp', '2', '--pp', '1']
    for other in (['--identity', 'skip'], ['--acc', '2'], ['--trace', os.devnull], ['--expect', 'ERROR']):
        result = run([*MPIRUN, *base, ':', *base, *other])
        check(result.returncode == 2 and result.stdout == '', f'{other}: {result.returncode} {result.stdout}')
        check("the processes of a job take the same program and flags: rank 0 has 'skip_identity_leaf" in result.stderr,
              f'{other}: {result.stderr}')


def test_an_error_of_one_process_is_printed():
    # Before the others end over it, and mpirun ends this one.
    result = mpirun(2, '--tp', '2', '--pp', '1', '--trace', '/nowhere/trace.json')
    check(result.returncode == 3 and '/nowhere/trace.json' in result.stderr, f'{result.returncode} {result.stderr}')


def test_large_messages_on_every_way():
    # A message that is no small one moves while both ends call MPI; between nodes there is no way around that.
    for environment in ({'OMPI_MCA_btl': 'tcp,self'}, {'OMPI_MCA_btl_vader_single_copy_mechanism': 'none'}):
        for processes, layout in ((2, ['--tp', '1', '--pp', '2', '--hidden', '512']), (3, ['--tp', '3', '--pp', '1', '--hidden', '510'])):
            result = mpirun(processes, '--acc', '4', '--tokens', '512', *layout, environment=environment)
            check(result.returncode == 0, f'{environment}, {layout}: {result.returncode} {result.stderr}')


def pids_of(job, count):
    """Process ids by rank, of the programs that an mpirun started."""
    while job.poll() is None:
        ranks = {}
        for pid in (p for p in os.listdir('/proc') if p.isdigit()):
            try:
                with open(f'/proc/{pid}/stat') as file:
                    parent = int(file.read().rsplit(')', 1)[1].split()[1])
                with open(f'/proc/{pid}/environ') as file:
                    variables = dict(line.split('=', 1) for line in file.read().split('\0') if '=' in line)
            except (OSError, ValueError):
                continue
            if parent == job.pid and 'OMPI_COMM_WORLD_RANK' in variables:
                ranks[int(variables['OMPI_COMM_WORLD_RANK'])] = int(pid)
        if len(ranks) == count:
            return ranks
        time.sleep(0.05)
    raise SystemExit('the job has ended before all its ranks ran')


class Progress:
    """The counter of operations that a driver shares with its cells (src/process/progress_counter.hpp)."""
    FD = 97

    def __init__(self):
        memory = os.memfd_create('progress')
        os.write(memory, struct.pack('<Q', 0x31505443554c5543) + bytes(120))
        os.dup2(memory, self.FD)
        os.close(memory)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.FD)

    def read(self):
        return struct.unpack('<Q', os.pread(self.FD, 8, 64))[0]


def is_running(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rsplit(')', 1)[1].split()[0] not in 'ZX'
    except OSError:
        return False


def num_waits(pid):
    """How often the first thread of a process, which is its rank's, has waited for anything."""
    with open(f'/proc/{pid}/status') as file:
        return int(next(line for line in file if line.startswith('voluntary_ctxt_switches')).split()[1])


def lose(victim, number):
    """Disturbs rank `victim` of a job of 4 in the middle. What the job's processes printed, and mpirun's status."""
    # Many small exchanges: minutes when nobody disturbs it.
    flags = ['--tp', '2', '--pp', '2', '--acc', '4096', '--blocks', '8', '--stall', '3600']
    with Progress() as progress, tempfile.TemporaryFile('w+') as out, tempfile.TemporaryFile('w+') as err:
        job = subprocess.Popen([*MPIRUN, '-np', '4', LEAF, '--comm', 'mpi', *flags], stdout=out, stderr=err,
                               pass_fds=[Progress.FD], env={**os.environ, 'CULPRIT_PROGRESS_FD': str(Progress.FD)})
        ranks = pids_of(job, 4)
        # Once one has done an operation all have met; while rank 0 works out the reference rank 3 waits for it.
        while progress.read() == 0 and job.poll() is None:
            time.sleep(0.05)
        start = num_waits(ranks[3])
        while job.poll() is None and num_waits(ranks[3]) < start + 300:
            time.sleep(0.05)
        os.kill(ranks[victim], number)
        others = [pid for rank, pid in ranks.items() if rank != victim]
        deadline = time.time() + 60
        while any(map(is_running, others)) and time.time() < deadline:
            time.sleep(0.05)
        check(not any(map(is_running, others)), f'{number!r} of rank {victim}: the others have not ended')
        for pid in filter(is_running, ranks.values()):
            os.kill(pid, signal.SIGKILL)
        try:
            job.wait(timeout=20)
        except subprocess.TimeoutExpired:  # Open MPI's mpirun may hang when it loses its processes
            job.kill()
            job.wait()
        out.seek(0)
        err.seek(0)
        return out.read(), err.read(), job.returncode


def test_a_lost_process():
    for number, victim in ((signal.SIGKILL, 2), (signal.SIGSTOP, 2), (signal.SIGKILL, 0), (signal.SIGSTOP, 0)):
        out, err, status = lose(victim, number)
        what = f'{number!r} of rank {victim}: status {status}, {out} {err}'
        check(status != 0, what)
        for line in out.splitlines():
            cell = json.loads(line)
            check((cell['outcome'], cell['kind']) == ('CRASH', 'PROCESS_LOST'), what)
        if number == signal.SIGSTOP:
            check(status in (16, -signal.SIGKILL) and f"rank {victim}'s process gives no sign of life" in err, what)


def test_the_driver():
    with tempfile.TemporaryDirectory() as folder:
        outs = []
        for comm in ('mpi', 'local'):
            out = os.path.join(folder, comm)
            result = run([os.path.join(BIN, 'culprit'), 'run', '--tp', '2', '--pp', '1', '--hidden', '4', '--tokens', '2',
                          '--comm', comm, '--jobs', '2', '--out', out], timeout=280)
            check(result.returncode == 0, f'{comm}: {result.returncode} {result.stderr}')
            with open(os.path.join(out, 'cells.jsonl')) as file:
                outs.append(sorted(file.read().splitlines()))
        check(outs[0] == outs[1], 'the cells through MPI are those of threads')
        # No mpirun: said before anything is written.
        out = os.path.join(folder, 'none')
        result = run([os.path.join(BIN, 'culprit'), 'run', '--comm', 'mpi', '--out', out], {'PATH': '/nowhere'})
        check(result.returncode == 77 and 'mpirun is not in PATH' in result.stderr, result.stderr)
        check(not os.path.exists(out), 'nothing is written')


def test_triage():
    with tempfile.TemporaryDirectory() as folder:
        for scenario, verdict in (('overlap_unwaited_reduce', 'timing only'), ('skip_identity_leaf', 'independent of back end')):
            out = os.path.join(folder, scenario)
            result = run([os.path.join(BIN, 'culprit'), 'run', scenario, '--tp', '2', '--pp', '1', '--triage', '--out', out])
            check(result.returncode == 0, f'{scenario}: {result.stderr}')
            with open(os.path.join(out, 'report.json')) as file:
                found = json.load(file)['minimal_combinations']
            check(found and all(each['triage']['verdict'] == verdict for each in found), f'{scenario}: {found}')
            ran = [row['backend'] for row in found[0]['triage']['backends'] if 'absent' not in row]
            check(ran[:2] == ['cpu+local', 'cpu+mpi'], f'{scenario}: ran on {ran}')
            check(f'triage: {found[0]["label"]}: {verdict}' in result.stdout, result.stdout)
            # Written again from the record, it says the same.
            with open(os.path.join(out, 'report.md')) as file:
                before = file.read()
            again = run([os.path.join(BIN, 'culprit'), 'report', out])
            with open(os.path.join(out, 'report.md')) as file:
                check(again.returncode == 0 and file.read() == before, f'{scenario}: report changed: {again.stderr}')


def test_triage_with_a_broken_mpirun():
    # It costs that back end, not the report.
    with tempfile.TemporaryDirectory() as folder:
        mpirun_file = os.path.join(folder, 'mpirun')
        with open(mpirun_file, 'w') as file:
            file.write('#!/bin/sh\necho "not enough slots" >&2\nexit 1\n')
        os.chmod(mpirun_file, 0o755)
        out = os.path.join(folder, 'out')
        result = run([os.path.join(BIN, 'culprit'), 'run', '--tp', '2', '--triage', '--no-verify', '--out', out],
                     {'PATH': folder + ':' + os.environ['PATH']})
        check(result.returncode == 0, f'{result.returncode} {result.stderr}')
        with open(os.path.join(out, 'report.json')) as file:
            rows = json.load(file)['minimal_combinations'][0]['triage']['backends']
        check('not enough slots' in rows[1].get('absent', ''), rows)


def main():
    if not shutil.which('mpirun') or not os.path.exists(os.path.join(BIN, 'libculprit_mpi.so')):
        result = run([LEAF, '--comm', 'mpi', '--tp', '2', '--pp', '1'])
        print('SKIPPED:', result.stderr.strip())
        return 77 if result.returncode == 77 else 1
    for test in (test_outcomes_and_statuses, test_too_few_processes, test_a_launcher_that_mpi_does_not_know,
                 test_nccl_without_gpus_is_said_by_all, test_programs_that_are_one_process, test_processes_that_were_started_differently,
                 test_an_error_of_one_process_is_printed, test_large_messages_on_every_way,
                 test_a_lost_process, test_the_driver, test_triage,
                 test_triage_with_a_broken_mpirun):
        start = time.time()
        test()
        print(f'{test.__name__}: {time.time() - start:.1f} s')
    return 1 if failures else 0


sys.exit(main())
