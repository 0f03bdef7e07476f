"""A model that obeys everything it reads, contents that give it orders, and canaries on the disk that show what came of them."""
