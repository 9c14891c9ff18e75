"""Measure, learn and use kernels.

Nothing in gramsmith holds an n x n matrix unless asked to. Kernels are evaluated tile by tile, and
every measure is a function of three small sums that such a sweep leaves behind::

    labels y ───────────▶ Target: V, M ───────────┐
                              │                   ▼
    data X ──▶ Kernel ──▶   Gram   ══ tiles ══▶ Moments ──▶ Measure ──▶ value
                 ▲            ▲                             │
                 │            └═══════ Adjoint ◀════════════┘
                 │                        │
                 └────────── gradient ◀───┘
                                │
                                ▼
               Learner ──▶ Machine ──▶ Ranking ──▶ Report

* A **Kernel** says how two samples compare; it never sees a label.
* A **Target** turns labels or values into a thin probe V and a contrast M, so that the ideal
  similarity is V M V'.
* A **Gram** is the matrix nobody holds: kernel, data and a plan of tiles.
* **Moments** are what one sweep leaves: P = KV, d = diag K and q = <K, K>, for a list of kernels.
* A **Measure** is one number computed from Moments and Target alone. Its derivative goes back to
  the kernel as data (an **Adjoint**) in a second sweep.
* A **Learner** climbs a measure, a **Machine** predicts, a **Ranking** chooses, a **Report** shows.

Public names are imported on first use, so ``import gramsmith`` costs next to nothing.

Examples
--------
>>> import gramsmith as gs
>>> gs.Gaussian(length_scale=2.0)
Gaussian(length_scale=2.0)
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gramsmith.evaluation import Evaluation as Evaluation
    from gramsmith.evaluation import alignment as alignment
    from gramsmith.evaluation import alignment_scorer as alignment_scorer
    from gramsmith.evaluation import bandwidth_path as bandwidth_path
    from gramsmith.evaluation import cka as cka
    from gramsmith.evaluation import csm as csm
    from gramsmith.evaluation import evaluate as evaluate
    from gramsmith.evaluation import fsm as fsm
    from gramsmith.evaluation import fsm_error_bound as fsm_error_bound
    from gramsmith.evaluation import hsic as hsic
    from gramsmith.evaluation import kta as kta
    from gramsmith.evaluation import mmd as mmd
    from gramsmith.evaluation import parzen_error_bound as parzen_error_bound
    from gramsmith.evaluation import polarity as polarity
    from gramsmith.gram import Gram as Gram
    from gramsmith.kernels import AllSubsets as AllSubsets
    from gramsmith.kernels import AllSubstrings as AllSubstrings
    from gramsmith.kernels import Bilinear as Bilinear
    from gramsmith.kernels import Chi2 as Chi2
    from gramsmith.kernels import Constant as Constant
    from gramsmith.kernels import Exp as Exp
    from gramsmith.kernels import FunctionMap as FunctionMap
    from gramsmith.kernels import Gaussian as Gaussian
    from gramsmith.kernels import GaussianOf as GaussianOf
    from gramsmith.kernels import KernelCenterer as KernelCenterer
    from gramsmith.kernels import KernelNormalizer as KernelNormalizer
    from gramsmith.kernels import Laplacian as Laplacian
    from gramsmith.kernels import Linear as Linear
    from gramsmith.kernels import LinearMap as LinearMap
    from gramsmith.kernels import Matern as Matern
    from gramsmith.kernels import Mismatch as Mismatch
    from gramsmith.kernels import Normalized as Normalized
    from gramsmith.kernels import Periodic as Periodic
    from gramsmith.kernels import Polynomial as Polynomial
    from gramsmith.kernels import PolynomialOf as PolynomialOf
    from gramsmith.kernels import Precomputed as Precomputed
    from gramsmith.kernels import RankOne as RankOne
    from gramsmith.kernels import RationalQuadratic as RationalQuadratic
    from gramsmith.kernels import Sigmoid as Sigmoid
    from gramsmith.kernels import Spectrum as Spectrum
    from gramsmith.kernels import Subsequence as Subsequence
    from gramsmith.kernels import Subtree as Subtree
    from gramsmith.kernels import Tanimoto as Tanimoto
    from gramsmith.kernels import WeightedDegree as WeightedDegree
    from gramsmith.kernels import as_kernel as as_kernel
    from gramsmith.kernels import check_kernel_matrix as check_kernel_matrix
    from gramsmith.kernels import nearest_psd as nearest_psd
    from gramsmith.learning import KernelCombination as KernelCombination
    from gramsmith.learning import KernelLearner as KernelLearner
    from gramsmith.learning import SpectralAligner as SpectralAligner
    from gramsmith.learning import TransformLearner as TransformLearner
    from gramsmith.learning import TwoGaussianLearner as TwoGaussianLearner
    from gramsmith.learning import penalty_path as penalty_path
    from gramsmith.learning import transductive_alignment as transductive_alignment
    from gramsmith.machines import L2SVC as L2SVC
    from gramsmith.machines import CentroidClassifier as CentroidClassifier
    from gramsmith.machines import ImportVectorClassifier as ImportVectorClassifier
    from gramsmith.machines import KernelFisherDiscriminant as KernelFisherDiscriminant
    from gramsmith.machines import KernelLogisticRegression as KernelLogisticRegression
    from gramsmith.machines import KernelPerceptron as KernelPerceptron
    from gramsmith.machines import KernelRidgeClassifier as KernelRidgeClassifier
    from gramsmith.machines import KernelRidgeRegressor as KernelRidgeRegressor
    from gramsmith.machines import KernelSVC as KernelSVC
    from gramsmith.machines import KernelSVR as KernelSVR
    from gramsmith.machines import ParzenClassifier as ParzenClassifier
    from gramsmith.machines import RelevanceVectorClassifier as RelevanceVectorClassifier
    from gramsmith.machines import RelevanceVectorRegressor as RelevanceVectorRegressor
    from gramsmith.machines import fisher_criterion as fisher_criterion
    from gramsmith.selection import KernelRanking as KernelRanking
    from gramsmith.selection import KernelSelector as KernelSelector
    from gramsmith.selection import rank_kernels as rank_kernels
    from gramsmith.storage import ModelFormatError as ModelFormatError
    from gramsmith.storage import load_model as load_model
    from gramsmith.storage import read_fasta as read_fasta
    from gramsmith.storage import save_model as save_model

__version__ = "0.1.0"

# The one list of public names: what people type -> the module it comes from.
_PUBLIC = {
    # kernels of vectors
    "Bilinear": "gramsmith.kernels",
    "Chi2": "gramsmith.kernels",
    "Constant": "gramsmith.kernels",
    "Gaussian": "gramsmith.kernels",
    "Laplacian": "gramsmith.kernels",
    "Linear": "gramsmith.kernels",
    "Matern": "gramsmith.kernels",
    "Periodic": "gramsmith.kernels",
    "Polynomial": "gramsmith.kernels",
    "Precomputed": "gramsmith.kernels",
    "RankOne": "gramsmith.kernels",
    "RationalQuadratic": "gramsmith.kernels",
    "Sigmoid": "gramsmith.kernels",
    "Tanimoto": "gramsmith.kernels",
    # kernels of sets, strings and trees
    "AllSubsets": "gramsmith.kernels",
    "AllSubstrings": "gramsmith.kernels",
    "Mismatch": "gramsmith.kernels",
    "Spectrum": "gramsmith.kernels",
    "Subsequence": "gramsmith.kernels",
    "Subtree": "gramsmith.kernels",
    "WeightedDegree": "gramsmith.kernels",
    # the algebra of kernels
    "Exp": "gramsmith.kernels",
    "FunctionMap": "gramsmith.kernels",
    "GaussianOf": "gramsmith.kernels",
    "LinearMap": "gramsmith.kernels",
    "Normalized": "gramsmith.kernels",
    "PolynomialOf": "gramsmith.kernels",
    "as_kernel": "gramsmith.kernels",
    # matrices from elsewhere
    "KernelCenterer": "gramsmith.kernels",
    "KernelNormalizer": "gramsmith.kernels",
    "check_kernel_matrix": "gramsmith.kernels",
    "nearest_psd": "gramsmith.kernels",
    # the Gram matrix
    "Gram": "gramsmith.gram",
    # measures
    "Evaluation": "gramsmith.evaluation",
    "alignment": "gramsmith.evaluation",
    "alignment_scorer": "gramsmith.evaluation",
    "bandwidth_path": "gramsmith.evaluation",
    "cka": "gramsmith.evaluation",
    "csm": "gramsmith.evaluation",
    "evaluate": "gramsmith.evaluation",
    "fsm": "gramsmith.evaluation",
    "fsm_error_bound": "gramsmith.evaluation",
    "hsic": "gramsmith.evaluation",
    "kta": "gramsmith.evaluation",
    "mmd": "gramsmith.evaluation",
    "parzen_error_bound": "gramsmith.evaluation",
    "polarity": "gramsmith.evaluation",
    # learners
    "KernelCombination": "gramsmith.learning",
    "KernelLearner": "gramsmith.learning",
    "SpectralAligner": "gramsmith.learning",
    "TransformLearner": "gramsmith.learning",
    "TwoGaussianLearner": "gramsmith.learning",
    "penalty_path": "gramsmith.learning",
    "transductive_alignment": "gramsmith.learning",
    # machines
    "CentroidClassifier": "gramsmith.machines",
    "ImportVectorClassifier": "gramsmith.machines",
    "KernelFisherDiscriminant": "gramsmith.machines",
    "KernelLogisticRegression": "gramsmith.machines",
    "KernelPerceptron": "gramsmith.machines",
    "KernelRidgeClassifier": "gramsmith.machines",
    "KernelRidgeRegressor": "gramsmith.machines",
    "KernelSVC": "gramsmith.machines",
    "KernelSVR": "gramsmith.machines",
    "L2SVC": "gramsmith.machines",
    "ParzenClassifier": "gramsmith.machines",
    "RelevanceVectorClassifier": "gramsmith.machines",
    "RelevanceVectorRegressor": "gramsmith.machines",
    "fisher_criterion": "gramsmith.machines",
    # choosing
    "KernelRanking": "gramsmith.selection",
    "KernelSelector": "gramsmith.selection",
    "rank_kernels": "gramsmith.selection",
    # keeping
    "ModelFormatError": "gramsmith.storage",
    "load_model": "gramsmith.storage",
    "read_fasta": "gramsmith.storage",
    "save_model": "gramsmith.storage",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> object:
    """Import a public name on first use and remember it."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'gramsmith' has no attribute {name!r}")
    value = getattr(_import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *_PUBLIC})
