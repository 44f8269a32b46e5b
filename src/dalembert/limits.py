"""What a record can hold."""

LARGEST = 1e100  # SI units: numbers whose squares can be added up
