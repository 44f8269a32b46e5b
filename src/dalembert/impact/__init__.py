"""Contact by events: events are located in time; impulses act at them, and forces of resting contact between them."""
