"""What the records of this topic call their metrics and rows, in words for a reader."""

from reasonlib.display.labels import read_labels

__all__ = ["METRICS", "ROWS"]

METRICS, ROWS = read_labels(__file__)
"""From the name of a metric, and from that of a row, to words."""

PIXEL_MODELS = {
    "lstm": "LSTM",
    "wren": "WReN",
    "wren-notag-aux": "WReN-NoTag-Aux",
    "cnn": "CNN",
    "resnet": "ResNet",
    "resnet-drt": "ResNet+DRT",
    "copinet": "CoPINet",
    "cnn-reasoner": "CNN, both encoders",
    "blind-cnn": "CNN, context hidden",
    "blind-resnet": "ResNet, context hidden",
}
"""From a row of ``visual_iq/pixels`` to what table 3.2 or 3.3 calls it; the last two see no context."""


ABLATIONS = {
    "visual_iq/ablation/cnn": ("CNN", "yes", "yes"),
    "visual_iq/ablation/neither": ("detector", "no", "no"),
    "visual_iq/ablation/no-entity": ("detector", "no", "yes"),
    "visual_iq/ablation/no-panel": ("detector", "yes", "no"),
    "visual_iq/ablation/full": ("detector", "yes", "yes"),
}
"""From a claim to what table 3.3 says of its row: what perceives, and which of the two encoders there are."""


RELATIONAL_STEPS = {
    "all five": "full",
    "without 3: panels, not rows": "no-rows",
    "without 4: no symbol for copies": "no-alike",
    "5 for the third row alone": "third-row",
    "without 5: trained to choose": "choose",
}
"""From what is undone to a row of ``visual_iq/relational``."""


SOURCES = {
    "hersche2023": "Hersche et al. 2023",
    "hu2021": "Hu et al. 2021",
    "yang2023": "Yang et al. 2023",
    "yang2025": "Yang et al. 2025",
}
"""Who published a result on I-RAVEN."""
