"""Development programs, such as generators of the embedded data; the package needs none of them."""
