"""The look of the figures in the gallery."""

import matplotlib


def draw_plainly(conf, fname):
    """Give the figures of the gallery a common, quiet look."""
    matplotlib.rcParams.update(
        {
            "figure.dpi": 100,
            "savefig.dpi": 100,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": "medium",
            "legend.frameon": False,
            # Okabe and Ito: told apart by the colour-blind
            "axes.prop_cycle": matplotlib.cycler(
                color=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
            ),
        }
    )
