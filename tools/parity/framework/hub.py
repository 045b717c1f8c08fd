"""Runs one cell on forked ranks: hands out the work, carries every message, and knows who waits for whom. So a lost
peer and a deadlock are seen at once and the same way each time; a rank that says nothing meets a deadline."""
import collections
import selectors

import numpy as np

from .channel import put, take
from .judge import judge
from .rank_pool import RankPool

COLLECTIVES = {"all_reduce", "all_gather"}
SILENCE_SECONDS = 20.0  # without a word from any rank: the silent ones are killed and the cell is HANG


class Broken(Exception):
    """The tool itself failed in a rank; the text is the traceback."""


class _Member:
    """A rank in its place of the cell that runs."""

    def __init__(self, rank, stage, tp_rank):
        self.rank, self.stage, self.tp_rank = rank, stage, tp_rank
        self.phase = "start"
        self.waits = None  # (operation, argument) that was asked and not answered
        self.report = None
        self.inbox = collections.defaultdict(collections.deque)  # by the sending stage

    def answer(self, answered, value=None):
        self.waits = None
        try:
            put(self.rank.connection, (answered, value))
        except OSError:
            pass  # it died while it waited; its end of file says so


class Hub:
    """`model` says what is right (judge.py), `run_rank` runs one rank (rank_pool.py)."""

    def __init__(self, model, run_rank):
        self._model, self._pool = model, RankPool(run_rank)

    def run(self, cell, fresh=False):
        """What the cell came to (judge.py). `fresh`: in processes that have run nothing else."""
        if fresh:
            self._pool.drop_all()
        places = [(stage, tp) for stage in range(cell["pp"]) for tp in range(cell["tp"])]
        ranks = self._pool.take(len(places))
        members = {place: _Member(rank, *place) for place, rank in zip(places, ranks)}
        with selectors.DefaultSelector() as selector:
            for member in members.values():
                selector.register(member.rank.connection, selectors.EVENT_READ, member)
                put(member.rank.connection, (cell, member.stage, member.tp_rank))
            self._carry(selector, members)
        return judge(self._model, cell, {place: member.report for place, member in members.items()})

    def _carry(self, selector, members):
        running = len(members)
        while running:
            ready = selector.select(SILENCE_SECONDS)
            if not ready:
                for member in self._running(members):
                    self._hang(selector, member, f"no word from any rank for {SILENCE_SECONDS:g} s")
                return
            before = running
            for key, _ in ready:
                self._hear(selector, key.data, members)
            running = len(self._running(members))
            if running < before:
                self._free_waiting(members)
            if all(member.waits for member in self._running(members)):
                for member in self._running(members):
                    self._hang(selector, member, f"waits for ever in {member.waits[0]}")
                return

    @staticmethod
    def _running(members):
        return [member for member in members.values() if member.report is None]

    @staticmethod
    def _fail(member, error_class, kind, message):
        member.report = {"error": {"class": error_class, "kind": kind, "phase": member.phase, "message": message,
                                   "own": True}}

    def _hang(self, selector, member, message):
        selector.unregister(member.rank.connection)
        member.rank.kill()
        self._fail(member, "HANG", "HANG", message)

    def _hear(self, selector, member, members):
        """Takes one message, or notices the rank's death."""
        try:
            operation, argument = take(member.rank.connection)
        except (EOFError, ConnectionResetError):
            selector.unregister(member.rank.connection)
            self._fail(member, "CRASH", member.rank.reap(), "the process died")
            return
        if operation == "phase":
            member.phase = argument
        elif operation == "send":
            stage, array = argument
            peer = members[stage, member.tp_rank]
            peer.inbox[member.stage].append(array)
            if peer.waits == ("receive", member.stage):
                peer.answer(True, peer.inbox[member.stage].popleft())
        elif operation == "receive":
            if member.inbox[argument]:
                member.answer(True, member.inbox[argument].popleft())
            elif members[argument, member.tp_rank].report is not None:
                member.answer(False)
            else:
                member.waits = (operation, argument)
        elif operation in COLLECTIVES:
            member.waits = (operation, argument)
            self._collective([m for m in members.values() if m.stage == member.stage])
        elif operation == "done":
            member.report = argument
            selector.unregister(member.rank.connection)
            self._pool.give(member.rank)
        else:
            raise Broken(argument)

    @staticmethod
    def _collective(group):
        """Answers a tensor group once all of it is there, or tells it that it never will be."""
        if any(member.report is not None for member in group):
            for member in group:
                if member.waits and member.waits[0] in COLLECTIVES:
                    member.answer(False)
            return
        asked = {member.waits[0] if member.waits else None for member in group}
        if len(asked) != 1 or not asked <= COLLECTIVES:
            return
        arrays = [member.waits[1] for member in group]
        if asked == {"all_gather"}:
            result = np.concatenate(arrays, axis=-1)
        else:
            result = arrays[0].copy()
            for array in arrays[1:]:
                result += array
        for member in group:
            member.answer(True, result)

    def _free_waiting(self, members):
        """After a rank has left: those that wait for it learn that nothing will come."""
        for member in self._running(members):
            if not member.waits:
                continue
            if member.waits[0] == "receive":
                if members[member.waits[1], member.tp_rank].report is not None:
                    member.answer(False)
            else:
                self._collective([m for m in members.values() if m.stage == member.stage])
