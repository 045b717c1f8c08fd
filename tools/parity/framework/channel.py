"""A rank's end of its line to the hub: collectives of its tensor group, transfers to the neighbouring stages."""


class PeerLost(Exception):
    """A rank that this one waits for has raised, died or finished."""


class Channel:
    """Arrays are float32 numpy arrays. Each call that waits raises PeerLost where the answer can't come; `lost_peer`
    then says so even where the framework has wrapped the exception into one of its own."""

    def __init__(self, connection):
        self._connection = connection
        self.lost_peer = False
        self.phase = "start"

    def enter(self, phase):
        """Tells where this rank is, for a report about it should it die."""
        self.phase = phase
        self._connection.send(("phase", phase))

    def all_reduce(self, array):
        """The sum over the tensor group, added up in rank order."""
        return self._ask("all_reduce", array)

    def all_gather(self, array):
        """The tensor group's arrays side by side: [rows, columns of all ranks]."""
        return self._ask("all_gather", array)

    def send(self, stage, array):
        """To the same tensor rank of `stage`; None stands for nothing to send. Does not wait."""
        self._connection.send(("send", (stage, array)))

    def receive(self, stage):
        """What the same tensor rank of `stage` sent next; waits."""
        return self._ask("receive", stage)

    def _ask(self, operation, argument):
        self._connection.send((operation, argument))
        answered, answer = self._connection.recv()
        if not answered:
            self.lost_peer = True
            raise PeerLost("a rank that this one waits for is gone")
        return answer
