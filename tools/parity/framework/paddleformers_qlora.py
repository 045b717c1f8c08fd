"""The blocks of the quantised LoRA model (qlora_model.py): paddleformers' own layer class. Two stand-ins: the quantised
kernels have no CPU build, so the weight is kept in float32 and multiplied as it is; c_concat has none either, so the
shards are gathered over the hub."""
from types import SimpleNamespace

import paddle
from paddle.distributed.fleet.layers.mpu import mp_ops
from paddleformers.peft.lora.lora_quantization_layers import ColumnParallelQuantizationLoRALinear
from paddleformers.quantization import quantization_linear

from . import paddle_layers, qlora_model

model = qlora_model


def _use_stand_ins():
    quantization_linear.weight_only_linear = lambda x, weight, **rest: paddle.matmul(x, weight)
    quantization_linear.weight_dequantize = lambda x, **rest: x
    mp_ops._c_concat = lambda tensor, group=None: paddle_layers.gather(tensor, group)


_use_stand_ins()


class Blocks:
    """A stage's blocks on one rank. `part(name)` gives this rank's values of a weight."""

    def __init__(self, cell, group, blocks, part):
        self._layers, self.parameters = {}, {}
        rank = qlora_model.adapter_rank(cell)
        for b in blocks:
            base = paddle.to_tensor(part(f"base{b}"))  # frozen: it stops gradients
            quantised = SimpleNamespace(
                quantization_config=SimpleNamespace(group_size=-1, qlora_weight_double_quant=False),
                weight_quantize_algo="weight_only_int8", _dtype="float32", quant_dtype="int8", quant_weight=base,
                weight_scale=paddle.ones([1]), bias=None, model_parallel_group=group, world_size=group.nranks,
                gather_output=True, sequence_parallel=False, mp_skip_c_identity=cell["identity"] != "copy",
                in_features=cell["hidden"], output_size_per_partition=cell["hidden"] // group.nranks)
            # alpha = r: the low-rank branch is not scaled
            lora = SimpleNamespace(r=rank, rslora=False, lora_alpha=rank, lora_dropout=0.0)
            layer = ColumnParallelQuantizationLoRALinear(quantised, lora)
            layer.lora_A.set_value(part(f"loraA{b}"))
            layer.lora_B.set_value(part(f"loraB{b}"))
            self._layers[b] = layer
            self.parameters |= {f"loraA{b}": layer.lora_A, f"loraB{b}": layer.lora_B}

    def run(self, b, x):
        return self._layers[b](x)
