"""Commands of the command line, a module each; `cli` registers them."""
