"""The engine: tiles of Gram matrices, swept forward for moments and backward for gradients.

`views` says what stands for kernels and samples, `embedded` is a kernel with its embedded samples,
`plan` says which tiles there are, `sweep` evaluates and adds them up, `engine` places this work on
`threads`, `features` does without tiles where it can, `outer` has the gradients of functions, and
`gram` is the object people hold.
"""

from gramsmith.gram.engine import ENGINES as ENGINES
from gramsmith.gram.engine import Engine as Engine
from gramsmith.gram.engine import Serial as Serial
from gramsmith.gram.engine import SharesEngine as SharesEngine
from gramsmith.gram.engine import Threads as Threads
from gramsmith.gram.engine import as_engine as as_engine
from gramsmith.gram.engine import once as once
from gramsmith.gram.gram import Gradient as Gradient
from gramsmith.gram.gram import Gram as Gram
from gramsmith.gram.gram import as_gram as as_gram
from gramsmith.gram.journal import Journal as Journal
from gramsmith.gram.journal import JournalError as JournalError
from gramsmith.gram.views import Views as Views
from gramsmith.gram.views import as_views as as_views
