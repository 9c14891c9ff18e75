"""Papers: the five papers behind gramsmith, re-run number by number.

One file per paper holds its experiments, its published numbers and its verdicts; `data` and
`generators` supply the data, `record` the comparison.

Examples
--------
>>> from papers import list_experiments
>>> [experiment.name for experiment in list_experiments()][:2]
['pothin-richard/table-1', 'pothin-richard/table-2-ringnorm']
"""

from papers.record import VERDICTS as VERDICTS
from papers.record import Record as Record
from papers.record import count_verdicts as count_verdicts
from papers.runner import PAPERS as PAPERS
from papers.runner import list_experiments as list_experiments
from papers.runner import reproduce as reproduce
