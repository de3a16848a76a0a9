"""The softmax over dot products with and without the scale, and what attention costs as sequences grow."""

from reasonlib.tracking.experiment import Experiment, Trial, by_scale, subset
from reasonlib.transformer.data.datasets import DATA
from reasonlib.transformer.models.analysis import saturation
from reasonlib.transformer.models.cost import attention_memory, attention_seconds, cost, exponent


def run_saturation(trial: Trial) -> dict[str, float]:
    """Measure the softmax over dot products of random vectors, width by width."""
    settings = trial.settings
    widths = settings["widths"]
    results = saturation(
        widths, scaled=settings["scaled"], keys=16, queries=settings["queries"], seed=trial.seed
    )
    metrics = {
        f"{name}.d{item.width}": getattr(item, name)
        for item in results
        for name in ("spread", "entropy", "largest", "slope")
    }
    return {
        **metrics,
        "growth": exponent(widths, [item.spread for item in results]),  # of the spread with the width
        "slope.narrow": results[0].slope,
        "slope.wide": results[-1].slope,
        "entropy.wide": results[-1].entropy,
    }


SATURATION = Experiment(
    name="transformer/saturation",
    title="Softmax of dot products with and without scaling, by width",
    rows={"scaled": {"scaled": True}, "unscaled": {"scaled": False}},
    scales=by_scale(
        widths=((4, 64), (1, 4, 16, 64, 256), (1, 4, 16, 64, 256, 1024)), queries=(50, 2000, 10_000)
    ),
    data=subset(DATA, "normal"),
    run=run_saturation,
)


def run_cost(trial: Trial) -> dict[str, float]:
    """Time attention at growing lengths, and count what a layer must do."""
    settings = trial.settings
    lengths = settings["lengths"]
    seconds = attention_seconds(lengths, repeats=settings["repeats"], seed=trial.seed)
    attention = [cost(length).attention for length in lengths]
    others = [cost.projections + cost.feed_forward for cost in map(cost, lengths)]
    return {
        "exponent.seconds": exponent(lengths, seconds),
        "exponent.attention": exponent(lengths, attention),
        "exponent.others": exponent(lengths, others),
        "exponent.memory": exponent(lengths, [attention_memory(item) for item in lengths]),
        **{f"seconds.t{length}": second for length, second in zip(lengths, seconds, strict=True)},
    }


COST = Experiment(
    name="transformer/cost",
    title="The cost of attention as sequences grow: processor seconds, products, memory",
    rows={"attention": {}},
    scales=by_scale(lengths=((8, 16), (256, 512, 1024), (256, 512, 1024, 2048)), repeats=(1, 10, 40)),
    data=subset(DATA, "normal"),
    run=run_cost,
)
