"""A rank's end of its line to the hub: collectives of its tensor group, transfers to the neighbouring stages."""


import pickle


def put(connection, message):
    """connection.send without its search for reducers: most of a small message's cost."""
    connection.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def take(connection):
    """What `put` sent. Errors: EOFError, ConnectionResetError."""
    return pickle.loads(connection.recv_bytes())


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
        put(self._connection, ("phase", phase))

    def all_reduce(self, array):
        """The sum over the tensor group, added up in rank order."""
        return self._ask("all_reduce", array)

    def all_gather(self, array):
        """The tensor group's arrays side by side: [rows, columns of all ranks]."""
        return self._ask("all_gather", array)

    def send(self, stage, array):
        """To the same tensor rank of `stage`; None stands for nothing to send. Does not wait."""
        put(self._connection, ("send", (stage, array)))

    def receive(self, stage):
        """What the same tensor rank of `stage` sent next; waits."""
        return self._ask("receive", stage)

    def _ask(self, operation, argument):
        put(self._connection, (operation, argument))
        answered, answer = take(self._connection)
        if not answered:
            self.lost_peer = True
            raise PeerLost("a rank that this one waits for is gone")
        return answer
