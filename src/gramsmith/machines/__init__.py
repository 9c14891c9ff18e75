"""Machines: predictors that use a kernel, each a scikit-learn estimator."""

from gramsmith.machines.fisher import KernelFisherDiscriminant as KernelFisherDiscriminant
from gramsmith.machines.import_vector import ImportVectorClassifier as ImportVectorClassifier
from gramsmith.machines.l2svm import L2SVC as L2SVC
from gramsmith.machines.loss import KernelLogisticRegression as KernelLogisticRegression
from gramsmith.machines.loss import KernelLossClassifier as KernelLossClassifier
from gramsmith.machines.means import CentroidClassifier as CentroidClassifier
from gramsmith.machines.means import ParzenClassifier as ParzenClassifier
from gramsmith.machines.perceptron import KernelPerceptron as KernelPerceptron
from gramsmith.machines.relevance_vector import (
    RelevanceVectorClassifier as RelevanceVectorClassifier,
)
from gramsmith.machines.relevance_vector import RelevanceVectorRegressor as RelevanceVectorRegressor
from gramsmith.machines.ridge import KernelRidgeClassifier as KernelRidgeClassifier
from gramsmith.machines.ridge import KernelRidgeRegressor as KernelRidgeRegressor
from gramsmith.machines.svm import KernelSVC as KernelSVC
from gramsmith.machines.svm import KernelSVR as KernelSVR
