"""Kernels: how two samples compare. The one place with derivatives of kernels.

`base` says what a kernel is. A kernel of vectors is two formulas on top of a geometry (`geometry`,
`radial`, `inner`); `algebra`, `maps`, `normalized` and `explicit` build kernels from kernels;
`precomputed` and `adapt` take kernels from elsewhere; `symbolic` compares samples that are
not vectors.
"""

from gramsmith.kernels.adapt import as_kernel as as_kernel
from gramsmith.kernels.adapt import column_moments as column_moments
from gramsmith.kernels.adapt import default_kernel as default_kernel
from gramsmith.kernels.algebra import Bounded as Bounded
from gramsmith.kernels.algebra import Exp as Exp
from gramsmith.kernels.algebra import Fixed as Fixed
from gramsmith.kernels.algebra import Negated as Negated
from gramsmith.kernels.algebra import PolynomialOf as PolynomialOf
from gramsmith.kernels.algebra import Power as Power
from gramsmith.kernels.algebra import Product as Product
from gramsmith.kernels.algebra import Scaled as Scaled
from gramsmith.kernels.algebra import Sum as Sum
from gramsmith.kernels.base import Kernel as Kernel
from gramsmith.kernels.base import NotDifferentiable as NotDifferentiable
from gramsmith.kernels.constant import Constant as Constant
from gramsmith.kernels.constant import White as White
from gramsmith.kernels.explicit import Nystroem as Nystroem
from gramsmith.kernels.explicit import RandomFourier as RandomFourier
from gramsmith.kernels.inner import Bilinear as Bilinear
from gramsmith.kernels.inner import Linear as Linear
from gramsmith.kernels.inner import Polynomial as Polynomial
from gramsmith.kernels.inner import RankOne as RankOne
from gramsmith.kernels.inner import Sigmoid as Sigmoid
from gramsmith.kernels.inner import Tanimoto as Tanimoto
from gramsmith.kernels.leaves import Leaves as Leaves
from gramsmith.kernels.maps import ByFeatureCount as ByFeatureCount
from gramsmith.kernels.maps import Composed as Composed
from gramsmith.kernels.maps import FunctionMap as FunctionMap
from gramsmith.kernels.maps import LinearMap as LinearMap
from gramsmith.kernels.maps import TakeColumns as TakeColumns
from gramsmith.kernels.mixed import Mixed as Mixed
from gramsmith.kernels.normalized import GaussianOf as GaussianOf
from gramsmith.kernels.normalized import Normalized as Normalized
from gramsmith.kernels.precomputed import KernelCenterer as KernelCenterer
from gramsmith.kernels.precomputed import KernelNormalizer as KernelNormalizer
from gramsmith.kernels.precomputed import NearestPSD as NearestPSD
from gramsmith.kernels.precomputed import Precomputed as Precomputed
from gramsmith.kernels.precomputed import check_kernel_matrix as check_kernel_matrix
from gramsmith.kernels.precomputed import nearest_psd as nearest_psd
from gramsmith.kernels.radial import AdditiveChi2 as AdditiveChi2
from gramsmith.kernels.radial import Chi2 as Chi2
from gramsmith.kernels.radial import Gaussian as Gaussian
from gramsmith.kernels.radial import Laplacian as Laplacian
from gramsmith.kernels.radial import Matern as Matern
from gramsmith.kernels.radial import Periodic as Periodic
from gramsmith.kernels.radial import PowerExponential as PowerExponential
from gramsmith.kernels.radial import RationalQuadratic as RationalQuadratic
from gramsmith.kernels.symbolic import AllSubsets as AllSubsets
from gramsmith.kernels.symbolic import AllSubstrings as AllSubstrings
from gramsmith.kernels.symbolic import Mismatch as Mismatch
from gramsmith.kernels.symbolic import Spectrum as Spectrum
from gramsmith.kernels.symbolic import Subsequence as Subsequence
from gramsmith.kernels.symbolic import Subtree as Subtree
from gramsmith.kernels.symbolic import WeightedDegree as WeightedDegree
