"""`python -m clients.generate js|dts|go` prints the verbs of a package.

A verb, an argument or a default that is changed in Python is changed in the packages by `make generate`; `make check`
fails until that is done.
"""

import sys

from clients.generate import go, javascript

LANGUAGES = {"js": javascript.code, "dts": javascript.types, "go": go.code}

sys.stdout.write(LANGUAGES[sys.argv[1]]())
