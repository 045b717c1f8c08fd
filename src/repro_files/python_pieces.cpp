#include "repro_files/python_pieces.hpp"

namespace culprit::python_pieces {

const char* const kHead = R"py(
# $SEEN$
$LABEL_LINES$
#   pip install paddlepaddle==$VERSION$ && python3 repro.py; echo $?
$STATUS_LINES$
$MECHANISM_LINES$
$SETUP_LINES$
$IMPORTS$
import numpy as np
import paddle
%gather|frozen_linear% from paddle.autograd import PyLayer
%row% from paddle.distributed import ReduceOp
%overlap% from paddle.distributed.fleet.layers.mpu import mp_layers
%identity|row% from paddle.distributed.fleet.layers.mpu import mp_ops
%recompute% from paddle.distributed.fleet.recompute import recompute

%!old&copy|!old&skip|!old&row&!skips% mp_ops._C_ops.c_identity = lambda x, *_: paddle.assign(x)  # the stand-in
%overlap&!skips|old&copy|old&skip|old&row&!skips% paddle._legacy_C_ops.c_identity = lambda x, *_: paddle.assign(x)  # the stand-in
%ranks% paddle.disable_signal_handler()  # a rank that is stopped says nothing
$CONSTANTS$
%skips&tp% SKIP = True  # mp_skip_c_identity$SKIP_NOTE$
PARAMETERS = {  # number, shape$PARAMETER_COLUMNS$
    $PYTHON_PARAMETERS$
}
)py";

const char* const kGroup = R"py(

class Group:  # what PaddlePaddle's layers ask of a process group
    id = 0
    def __init__(self, rank, links):
        self.rank, self.process_group = rank % TP, self
        self.links = [links.get(rank - self.rank + peer) for peer in range(TP)]

    def exchange(self, array):  # every rank's array, in rank order
        for link in filter(None, self.links):
            link.send(array)
        return [link.recv() if link else array for link in self.links]
%identity|overlap|row% 
%identity|overlap|row%     def all_reduce(self, tensor, op, sync_op=True):  # as NCCL: writes memory, unseen by autograd
%identity|overlap|row%         total = np.sum(self.exchange(tensor.numpy()), axis=0)
%identity|overlap|row%         ctypes.memmove(tensor.data_ptr(), total.ctypes.data, total.nbytes)
%overlap%         return self
%overlap% 
%overlap%     def wait(self):
%overlap%         pass
%identity|row%     all_reduce_on_calc_stream = all_reduce
)py";

const char* const kOtherIdentity = R"py(

class Identity(mp_ops.c_identity_eager):  # with another forward
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
%mark%         ctx.mark_not_inplace(x)
%mark%         return x
%view%         return x.view(x.shape)
%detach%         return x.detach()
%reshape%         return x.reshape(x.shape)
)py";

const char* const kGather = R"py(

class Gather(PyLayer):
    @staticmethod
    def forward(ctx, x, group):
        ctx.columns = slice(group.rank * x.shape[1], (group.rank + 1) * x.shape[1])
        return paddle.to_tensor(np.concatenate(group.exchange(x.numpy()), axis=1))
    @staticmethod
    def backward(ctx, dy):
        return paddle.assign(dy[:, ctx.columns])
)py";

const char* const kFrozenLinear = R"py(

class FrozenLinear(PyLayer):  # as the quantised linear of paddleformers 1.2.0
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight, None)
        return x @ weight
    @staticmethod
    def backward(ctx, dy):
        x, weight, _ = ctx.saved_tensor()
        return None if x.stop_gradient else dy @ weight.T, None
)py";

// On one rank, the reference, there is no group.
const char* const kWithoutGroup = R"py(

%identity% def identity(x, group):
%identity%     return x if group is None else $CALL_IDENTITY$
%overlap% def overlap_linear(x, weight, group):
%overlap%     return x @ weight if group is None else $CALL_OVERLAP$
%frozen_linear% def frozen_linear(x, weight, group):
%frozen_linear%     return x @ weight if group is None else $CALL_FROZEN$
%row% def all_reduce(x, group):
%row%     return x if group is None else $CALL_ALL_REDUCE$
%gather% def gather(x, group):
%gather%     return x if group is None else $CALL_GATHER$
%recompute% def recomputed(run, x, group):
%recompute%     return run(x) if group is None else recompute(run, x, $RECOMPUTE_ARGUMENTS$)
)py";

const char* const kNumbers = R"py(

def numbers(k, shape):  # fixed, from -0.5 to 0.5
    i = np.arange(np.prod(shape))
    return (((i * 37 + k * 11 + 5) % 101 - 50) / 100).astype("float32").reshape(shape)
def batch(k$M_ARGUMENT$):
    return paddle.to_tensor(numbers(k$PLUS_M$, ($TOKENS$, $HIDDEN$)))
%split% def shard(array, axis, group):
%split&reference%     return array if group is None or axis is None else np.split(array, TP, axis)[group.rank]
%split&!reference%     return array if axis is None else np.split(array, TP, axis)[group.rank]
%pp&reference% def loss(y$M_ARGUMENT$):
%pp&reference%     return $LOSS$

def parameters($PARAMETERS_OF$):
    return {name: paddle.to_tensor($VALUE$, stop_gradient=$STOP_GRADIENT$)
            for name, (k, shape$ROW_SPLIT$$ROW_GAIN$$ROW_STAGE$$ROW_TRAINABLE$) in PARAMETERS.items()$OF_STAGE$}
)py";

const char* const kTrain = R"py(

def train($TRAIN_OF$):
    w = parameters($TRAIN_OF$)
%many%     for m in range($MICRO_BATCHES$):
%many%         y = forward(batch($DATA$, m), w$GROUP_ARGUMENT$)
%many%         ($LOSS$).backward()
%!many%     y = forward(batch($DATA$), w$GROUP_ARGUMENT$)
%!many%     ($LOSS$).backward()
%!error%     return w
)py";

// One micro-batch: no loops. Several go forward, then backward: the order of 1F1B changes no
// outcome here.
const char* const kTrainStage = R"py(

def train(rank, links$GROUP_ARGUMENT$):
    stage, before, after = $STAGE$, links.get(rank - $STRIDE$), links.get(rank + $STRIDE$)
    w = parameters(stage$GROUP_ARGUMENT$)
%many%     in_flight = []
%many%     for m in range($MICRO_BATCHES$):
%many%         $FORWARD$
%many%         in_flight.append((x, y))
%many%     for x, y in in_flight:
%many%         $BACKWARD$
%!many%     $FORWARD$
%!many%     $BACKWARD$
%!error%     return w
)py";

const char* const kForward = R"py(
%!wide% x = $BATCH$ if stage == 0 else paddle.to_tensor(before.recv(), stop_gradient=False)
%wide% x = [$BATCH$] if stage == 0 else [paddle.to_tensor(a, stop_gradient=False) for a in before.recv()]
y = forward(stage, x, w$GROUP_ARGUMENT$)
if stage == PP - 1:
%reference&!wide%     y = loss(y$M_ARGUMENT$)
%reference&wide%     y = [loss(y[0]$M_ARGUMENT$)]
%!reference&!wide%     y = $LOSS$
%!reference&wide%     y = [$LOSS$]
else:
%!wide%     after.send(y.numpy())
%release&!wide%     if y.inplace_version == 0:
%release&!wide%         y._clear_dataptr()  # as the pipeline releases what it has sent
%wide%     after.send([tensor.numpy() for tensor in y])
%release&wide%     for tensor in y:
%release&wide%         if tensor.inplace_version == 0:
%release&wide%             tensor._clear_dataptr()  # as the pipeline releases what it has sent
)py";

const char* const kBackward = R"py(
%!wide% paddle.autograd.backward([y], [None if stage == PP - 1 else paddle.to_tensor(after.recv())])
%wide% dy = [None] if stage == PP - 1 else [paddle.to_tensor(array) for array in after.recv()]
%wide% paddle.autograd.backward(y, dy)
if stage > 0:
%!wide&mark%     before.send(None if x.grad is None else x.grad.numpy())
%!wide&!mark%     before.send(x.grad.numpy())
%wide%     before.send([tensor.grad.numpy() for tensor in x])
)py";

// Without a pipeline the reference is train(None).
const char* const kReference = R"py(

def reference():  # the same model on one rank
    w = parameters(None, None)
%many%     for m in range($MICRO_BATCHES$):
%many%         x = batch($DATA$, m)
%many%         for stage in range(PP):
%many%             x = forward(stage, x, w, None)
%many%         loss(x, m).backward()
%!many%     x = batch($DATA$)
%!many%     for stage in range(PP):
%!many%         x = forward(stage, x, w, None)
%!many%     loss(x).backward()
%!error%     return w
)py";

const char* const kRank = R"py(

def run(rank, links):
%error&!crashes%     try:
%error&!crashes%         $TRAIN_CALL$
%error&!crashes%     except Exception as error:
%error&!crashes%         if $PHRASE$ not in str(error):
%error&!crashes%             raise
%error&!crashes%         line = next(line for line in str(error).splitlines() if $PHRASE$ in line)
%error&!crashes%         sys.stdout.write(f"$OUTCOME$ on rank {rank}: {line.strip()}\n")
%error&!crashes%         sys.exit($STATUS$)
%crashes%     $TRAIN_CALL$
%missing%     missing = [name for name, p in $TRAIN_CALL$.items() if p.grad is None$AND_TRAINABLE$]
%missing%     if missing:
%missing%         sys.stdout.write(f"MISSING_GRAD on rank {rank}: {', '.join(missing)}\n")
%missing%         sys.exit($STATUS$)
%reference%     group, status = Group(rank, links), 0
%reference%     w, whole = $TRAIN_CALL$, $REFERENCE$
%reference&!frozen%     for name, p in w.items():
%reference&frozen%     for name, p in ((name, p) for name, p in w.items() if not p.stop_gradient):
%reference&split%         expected = shard(whole[name].grad.numpy(), PARAMETERS[name][2], group)
%reference&!split%         expected = whole[name].grad.numpy()
%reference%         off = np.abs(p.grad.numpy() - expected).max() / np.abs(expected).max()
%reference%         if off > 1e-3:
%reference%             sys.stdout.write(f"WRONG_GRAD on rank {rank}: {name} off by {off:.2f} x its largest entry\n")
%reference%             status = $STATUS$
%reference%     sys.exit(status)
)py";

const char* const kAlone = R"py(

%error% try:
%error%     train()
%error% except Exception as error:
%error%     if $PHRASE$ not in str(error):
%error%         raise
%error%     print("$OUTCOME$:", next(line for line in str(error).splitlines() if $PHRASE$ in line).strip())
%error%     raise SystemExit($STATUS$)
%missing% missing = [name for name, p in train().items() if p.grad is None$AND_TRAINABLE$]
%missing% if missing:
%missing%     print(f"MISSING_GRAD: {', '.join(missing)}")
%missing%     raise SystemExit($STATUS$)
)py";

const char* const kMain = R"py(

links = {rank: {} for rank in range($WORLD_EXPRESSION$)}
for a, b in itertools.combinations(links, 2):
    links[a][b], links[b][a] = multiprocessing.Pipe()
ranks = [multiprocessing.Process(target=run, args=(rank, links[rank]), daemon=True) for rank in links]
for rank in ranks:
    rank.start()
while None in (codes := [rank.exitcode for rank in ranks]) and not any(codes): time.sleep(0.1)
%crashes% if -signal.SIGSEGV in codes:
%crashes%     print("CRASH SIGSEGV: a rank read a tensor that it had released")
%crashes%     sys.exit(16)
sys.exit(next(filter(None, codes), 0))
)py";

}  // namespace culprit::python_pieces
