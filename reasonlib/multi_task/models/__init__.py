"""Systems: a shared encoder, four kinds of heads, the stochastic answer network."""
