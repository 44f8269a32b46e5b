"""`python -m dalembert.cli`, which is `dalembert`."""

from . import main

main()
