"""The engine: tiles of Gram matrices, swept forward for moments and backward for gradients.

`plan` says which tiles there are, `bank` evaluates kernels on them, `sweep` adds them up, `threads`
maps over them, `explicit` does without them, `routes` chooses between the two, and `gram` is the
object people hold.
"""

from gramsmith.gram.gram import Gradient as Gradient
from gramsmith.gram.gram import Gram as Gram
from gramsmith.gram.gram import as_gram as as_gram
from gramsmith.gram.views import Views as Views
from gramsmith.gram.views import as_views as as_views
