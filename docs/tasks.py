"""The API by task: which name stands under which heading, and which names belong together.

A task has a heading, a sentence, the guide that explains it, and groups of names. Names of one
group refer to each other under "See also"; `TOGETHER` joins names of different tasks.
"""

from typing import NamedTuple


class Task(NamedTuple):
    """A heading of the API reference."""

    heading: str
    sentence: str
    guide: str
    groups: tuple[str, ...]  # names, separated by blanks
    module: str = "gramsmith"

    @property
    def names(self):
        """Every name of the task, in order."""
        return [name for group in self.groups for name in group.split()]


TASKS = (
    Task(
        "Measure a kernel",
        "How well does a kernel fit these labels? One number, or all of them in one pass.",
        "guide/measure",
        (
            "evaluate Evaluation bandwidth_path estimate alignment_scorer",
            "cka kta hsic polarity",
            "fsm csm fsm_error_bound parzen_error_bound",
            "alignment mmd",
            "compare_representations RepresentationMatrix",
            "value_and_gradient",
        ),
    ),
    Task(
        "Test a hypothesis",
        "Do two samples differ, do two variables depend on each other? With a p-value.",
        "guide/hypotheses",
        ("two_sample_test independence_test KernelTest", "drift_test DriftResult"),
    ),
    Task(
        "Kernels of numbers",
        "How two rows of numbers compare.",
        "theory/kernels",
        (
            "Gaussian Laplacian Matern PowerExponential RationalQuadratic Periodic",
            "Linear Polynomial Sigmoid Bilinear Constant White RankOne",
            "Chi2 Tanimoto",
            "Mixed",
            "Leaves",
        ),
    ),
    Task(
        "Kernels of strings, sets and trees",
        "How two sequences, sets or trees compare.",
        "guide/strings",
        ("Spectrum Mismatch AllSubstrings WeightedDegree Subsequence", "AllSubsets Subtree"),
    ),
    Task(
        "Kernels made of kernels",
        "Sums, products and powers are written ``k1 + k2``, ``k1 * k2`` and ``k ** 3``, a map of"
        " the inputs ``k @ LinearMap(S)``. These are the others.",
        "theory/kernels",
        (
            "Exp PolynomialOf GaussianOf Normalized Negated Bounded",
            "LinearMap TakeColumns FunctionMap as_kernel",
        ),
    ),
    Task(
        "Matrices from elsewhere",
        "Check, repair, centre and use a kernel matrix that another program computed.",
        "guide/recipes",
        ("check_kernel_matrix nearest_psd NearestPSD Precomputed KernelCenterer KernelNormalizer",),
    ),
    Task(
        "Learn a kernel",
        "Weights of features, linear maps, parameters, mixtures.",
        "guide/learn",
        (
            "TransformLearner KernelLearner penalty_path",
            "KernelCombination TwoGaussianLearner",
            "SpectralAligner transductive_alignment",
            "ForestLearner",
        ),
    ),
    Task(
        "Predict",
        "Classifiers and regressors that take any kernel.",
        "guide/use",
        (
            "KernelRidgeClassifier KernelRidgeRegressor KernelSVC KernelSVR L2SVC",
            "KernelLogisticRegression ImportVectorClassifier KernelLossClassifier",
            "RelevanceVectorClassifier RelevanceVectorRegressor",
            "ParzenClassifier CentroidClassifier KernelPerceptron",
            "KernelFisherDiscriminant",
        ),
    ),
    Task(
        "Choose a kernel",
        "Compare many kernels, verify the best, fit the winner and explain it.",
        "guide/ten_minutes",
        (
            "rank_kernels KernelSelector KernelRanking",
            "threshold_table ThresholdTable",
            "read_fasta",
        ),
    ),
    Task(
        "Many rows",
        "Stream the Gram matrix, on threads or on a cluster, or replace it by a few features.",
        "guide/scale",
        ("Gram Threads Serial Dask Engine", "Journal JournalError", "Nystroem RandomFourier"),
    ),
    Task(
        "Keep and share",
        "Model files that hold no code, and models for programs without Python.",
        "guide/models",
        ("save_model load_model to_onnx ModelFormatError",),
    ),
    Task(
        "Pictures",
        "Samples as a kernel sees them; a ranking has the other pictures of its report.",
        "guide/read_the_report",
        ("plot_gram plot_map",),
        "gramsmith.report",
    ),
    Task(
        "Inside results",
        "One cell of an evaluation: a value with its error and interval.",
        "guide/measure",
        ("Cell",),
        "gramsmith.evaluation.result",
    ),
    Task(
        "Why this prediction",
        "The training rows and the columns that the prediction for one row rests on.",
        "guide/guarantees",
        ("RowExplanation",),
        "gramsmith.machines.explanation",
    ),
    Task(
        "A kernel of your own",
        "What a kernel derives from, and how parameters are kept as they are.",
        "guide/extend",
        ("Kernel Fixed",),
        "gramsmith.kernels",
    ),
    Task(
        "A kernel of a distance",
        "Of a distance, a kernel of your own is two formulas.",
        "guide/extend",
        ("Radial",),
        "gramsmith.kernels.radial",
    ),
    Task(
        "A measure of your own",
        "A formula of the sums that one sweep leaves; its derivative follows.",
        "guide/extend",
        ("Measure Scalar Sums",),
        "gramsmith.measures",
    ),
    Task(
        "An objective of your own",
        "What a learner climbs.",
        "guide/extend",
        ("Objective",),
        "gramsmith.learning",
    ),
)

TOGETHER = (
    "evaluate rank_kernels",
    "estimate Nystroem Gram",
    "bandwidth_path Gaussian",
    "cka alignment",
    "hsic mmd",
    "fsm_error_bound CentroidClassifier",
    "parzen_error_bound ParzenClassifier",
    "csm KernelFisherDiscriminant",
    "Bilinear LinearMap",
    "Mixed rank_kernels Gaussian",
    "Tanimoto AllSubsets",
    "LinearMap TransformLearner",
    "Leaves ForestLearner",
    "ForestLearner TransformLearner",
    "Precomputed KernelCombination",
    "KernelCombination rank_kernels",
    "GaussianOf Gaussian",
    "PolynomialOf Polynomial",
    "Normalized KernelNormalizer",
    "Spectrum Normalized read_fasta",
    "Journal Threads Dask",
    "JournalError Journal",
    "KernelSelector save_model",
    "threshold_table rank_kernels",
    "RandomFourier Gaussian",
    "Measure evaluate",
    "Cell Evaluation",
    "RowExplanation KernelSelector",
    "Kernel Radial as_kernel",
    "Fixed KernelLearner",
    "Objective KernelLearner TransformLearner",
)


def related(names, tasks):
    """Return, for each of the names, those to be read with it."""
    found = {name: [] for name in names}
    for group in (*(g for task in tasks for g in task.groups), *TOGETHER):
        members = group.split()
        for name in members:
            found[name] += [other for other in members if other not in {name, *found[name]}]
    return found
