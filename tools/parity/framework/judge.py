"""What a cell came to, from what its ranks did: the columns of a cells file (docs/schemas.md)."""
import numpy as np

LOSS_BOUND = 1e-4  # of max(1, |reference|)
GRAD_BOUND = 1e-3  # of max |reference| over the rank's own part
# Deviations this near, relative, are one: rounding decides which is the larger. With one token a micro-batch all shards
# of a weight may deviate by the same ratio.
TIE = 1e-4


def _deviation(grad, expected):
    return float(np.abs(grad - expected).max() / max(np.abs(expected).max(), 1e-12))


def rounding(model, cell):
    """How far float32 on one rank is off, relative to the largest entry of a gradient's part: what rounding makes of this
    cell, whoever runs it. Parts whose entries are all small beside the whole's feel it most."""
    _, exact = model.reference(cell)
    _, rounded = model.reference(cell, np.float32)
    parameters = [parameter for parameter in model.parameters(cell) if parameter.trainable]
    return max(_deviation(parameter.part(rounded[parameter.name], tp, cell["tp"]),
                          parameter.part(exact[parameter.name], tp, cell["tp"]))
               for parameter in parameters for tp in range(cell["tp"]))


def judge(model, cell, ranks):
    """`model` has parameters and reference (stack_model.py). `ranks`: {(stage, tp rank): report}. A report holds `error` (kind, phase, message, own: whether it is more than
    a lost peer) or `loss`, `freed` and `grads` ({name: array or None}, in the order of parameters)."""
    in_order = sorted(ranks.items())
    raised = [(place, report["error"]) for place, report in in_order if "error" in report]
    return _judge_errors(raised) if raised else _judge_numbers(model, cell, in_order)


def _judge_errors(raised):
    own = [(place, error) for place, error in raised if error["own"]]
    first = (own or raised)[0][1]
    outcome = {"CRASH": "CRASH", "HANG": "HANG"}.get(first.get("class"), "ERROR")
    where = ";".join(f"stage{stage}.tp{tp}:{error['phase']}" for (stage, tp), error in own)
    return {"outcome": outcome, "kind": first["kind"], "where": where, "loss": "", "worst": "", "checksum": "",
            "freed": "", "ties": "", "rounding": "", "detail": first["message"]}


def _judge_numbers(model, cell, in_order):
    parameters = {parameter.name: parameter for parameter in model.parameters(cell)}
    expected_loss, expected_grads = model.reference(cell)
    missing, sums, deviations = [], [], {}
    worst, worst_name = 0.0, ""
    for (stage, tp), report in in_order:
        for name, grad in report["grads"].items():
            place = f"{name}@stage{stage}.tp{tp}"
            if grad is None:
                missing.append(place)
                continue
            expected = parameters[name].part(expected_grads[name], tp, cell["tp"])
            off = _deviation(grad, expected)
            deviations[place] = off
            if off > worst or (np.isnan(off) and not np.isnan(worst)):
                worst, worst_name = off, place
            sums.append(f"{name}@{stage}.{tp}={float(np.abs(grad.astype(np.float64)).sum()):.6g}")
    loss = sum(report["loss"] for (_, tp), report in in_order if tp == 0)
    wrong_loss = not abs(loss - expected_loss) <= LOSS_BOUND * max(1.0, abs(expected_loss))
    wrong_grad = not worst <= GRAD_BOUND
    if wrong_loss:
        outcome = "WRONG_LOSS"
    elif missing:
        outcome = "MISSING_GRAD"
    else:
        outcome = "WRONG_GRAD" if wrong_grad else "PASS"
    ties = [place for place, off in deviations.items() if off >= worst * (1 - TIE)] if wrong_grad else []
    return {"outcome": outcome, "kind": "", "where": " ".join(missing) or (worst_name if wrong_grad else ""),
            "loss": f"{loss:.7g}", "worst": f"{worst:.3g}", "checksum": " ".join(sums),
            "freed": str(sum(report["freed"] for _, report in in_order)),
            "ties": " ".join(ties) if len(ties) > 1 else "", "rounding": f"{rounding(model, cell):.2g}", "detail": ""}
