"""GP-SARSA, and the Gaussian process that it learns."""
