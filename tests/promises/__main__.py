"""Put the figures of a file, written by a whole run of the tests, into the page."""

import json
import sys

from promises import write_page

with open(sys.argv[1]) as file:
    write_page({name: (figure, runs) for name, figure, runs in map(json.loads, file)})
