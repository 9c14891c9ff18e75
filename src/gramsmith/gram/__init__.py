"""The engine: tiles of Gram matrices, swept forward for moments and backward for gradients.

`views` says what stands for kernels and samples, `plan` which tiles there are, `sweep` evaluates
and adds them up, `threads` maps over them, `explicit` does without them where it can, and `gram` is
the object people hold.
"""

from gramsmith.gram.gram import Gradient as Gradient
from gramsmith.gram.gram import Gram as Gram
from gramsmith.gram.gram import as_gram as as_gram
from gramsmith.gram.views import Views as Views
from gramsmith.gram.views import as_views as as_views
