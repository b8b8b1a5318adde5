# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Vectors and models in R: Rscript r_tables.R BYTES. A regression, an order and sums over groups that need about BYTES at their
# most; prints what they found.
bytes <- as.numeric(commandArgs(TRUE)[1])
n <- as.integer(bytes / 48) # at the most: three columns, an order, and what is made of them
set.seed(1)
x <- runif(n)
group <- sample.int(100L, n, replace = TRUE)
y <- 2 * x + sqrt(group) + runif(n)
ordered <- order(x, method = "radix")
cat(sprintf("%.9g %.9g\n", sum(y[ordered][seq(1L, n, by = 1000L)]), x[ordered[n %/% 2L]]))
rm(ordered)
sums <- rowsum(y, group)
cat(sprintf("%.9g", sums[c(1, 50, 100)]), "\n")
slope <- sum((x - mean(x)) * (y - mean(y))) / sum((x - mean(x))^2)
cat(sprintf("%.9g\n", slope))
