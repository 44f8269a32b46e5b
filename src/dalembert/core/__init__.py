"""What everything else is written with: compilation, tables, threads, vectors. Knows no mechanics."""
