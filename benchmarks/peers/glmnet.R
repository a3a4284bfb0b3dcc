# Rscript glmnet.R DATA m p thresh repeats OUT: glmnet's path on a dense matrix, its best time and its coefficients.
suppressMessages(library(glmnet))
args <- commandArgs(TRUE)
m <- as.integer(args[2]); p <- as.integer(args[3])
data <- file(args[1], "rb")
X <- matrix(readBin(data, "double", m * p), m, p)
y <- readBin(data, "double", m)
close(data)
best <- Inf
for (k in seq_len(as.integer(args[5]))) {
  took <- system.time(fit <- glmnet(X, y, nlambda = 100, lambda.min.ratio = 0.01, thresh = as.double(args[4]), maxit = 1e8))
  best <- min(best, took[["elapsed"]])
}
out <- file(args[6], "wb")
writeBin(c(best, length(fit$lambda), length(fit$beta@x)), out)
writeBin(as.double(fit$lambda), out)
writeBin(as.double(fit$beta@p), out)
writeBin(as.double(fit$beta@i), out)
writeBin(as.double(fit$beta@x), out)
close(out)
