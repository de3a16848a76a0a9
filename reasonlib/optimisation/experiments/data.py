"""The data sets of the experiments, and whether each is the source's own."""

__all__ = ["DATA"]

DATA = {
    "worked": "regenerated",  # the probabilities that the source prints
    "curves": "regenerated",  # the axes of the source's figures
    "number": "stand-in",
    "diabetes": "stand-in",
    "skewed": "stand-in",  # the source has the share of targets at 1000, not what the others are
    "widening": "stand-in",
    "tumours": "stand-in",
    "digits": "stand-in",
    "moved-digits": "stand-in",
    "normal": "stand-in",
    "saddle": "regenerated",  # x² - y², the caption of figure 2.18
    "ravine": "stand-in",  # of the other surfaces the source prints no formula
    "beale": "stand-in",
    "rosenbrock": "stand-in",
    "bowl": "stand-in",
    "pits": "stand-in",
    "flat-and-sharp": "stand-in",
    "reddi": "stand-in",  # after Reddi et al. 2018, section 3; the rare mini-batch comes at fixed times
}
