"""Contact by events: smooth motion between instants that are located, impulses at them, forces of resting contact between."""
