"""Forked rank processes that are kept from cell to cell: a fork of a process with a framework in it costs more than
a small cell."""
import ctypes
import multiprocessing
import os
import signal
import sys
import traceback

from .channel import Channel, put, take

PR_SET_PDEATHSIG = 1
CELLS_A_RANK = 500  # then it is replaced: memory that the framework never gives back stays bounded


class Rank:
    """One forked process. `connection` is the hub's end."""

    def __init__(self, pid, connection):
        self.pid, self.connection, self.cells = pid, connection, 0

    def reap(self):
        """Waits for the process, which is dead or dying; its status in words."""
        self.connection.close()
        _, status = os.waitpid(self.pid, 0)
        if os.WIFSIGNALED(status):
            return signal.Signals(os.WTERMSIG(status)).name
        return f"exit status {os.WEXITSTATUS(status)}"

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        return self.reap()


class RankPool:
    """`run_rank(cell, stage, tp_rank, channel)` is called in the forked processes and gives a report (judge.py)."""

    def __init__(self, run_rank):
        self._run_rank = run_rank
        self._idle = []

    def take(self, count):
        """That many idle ranks, forked where there are too few. Each must come back by `give`, or be killed."""
        while len(self._idle) < count:
            self._idle.append(self._fork())
        taken, self._idle = self._idle[-count:], self._idle[:-count]
        return taken

    def give(self, rank):
        rank.cells += 1
        if rank.cells >= CELLS_A_RANK:
            rank.kill()
        else:
            self._idle.append(rank)

    def drop_all(self):
        """Kills the idle ranks: the next cell runs in fresh processes."""
        for rank in self._idle:
            rank.kill()
        self._idle = []

    def _fork(self):
        mine, theirs = multiprocessing.Pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            theirs.close()
            return Rank(pid, mine)
        try:
            # Also where the hub is killed: a rank must not outlive it.
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            mine.close()
            for rank in self._idle:
                rank.connection.close()
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):  # the framework prints its stack traces there
                os.dup2(null, fd)
            self._serve(theirs)
        finally:
            os._exit(0)

    def _serve(self, connection):
        while True:
            try:
                cell, stage, tp_rank = take(connection)
            except EOFError:
                return
            try:
                report = self._run_rank(cell, stage, tp_rank, Channel(connection))
            except BaseException:
                put(connection, ("broken", traceback.format_exc()))
                return
            put(connection, ("done", report))
