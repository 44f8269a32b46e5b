"""The same as in the folder above, in joint coordinates: u and speeds w of a tree of joints, without multipliers for them."""
