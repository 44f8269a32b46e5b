"""`python -m dalembert.cli` is the same as `dalembert`."""

from . import main

main()
