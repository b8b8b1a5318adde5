% SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
% Arrays in Octave: octave-cli octave_arrays.m BYTES. Products, a sort and sums of arrays that need about BYTES at their most;
% prints what they found.
bytes = str2double (argv (){1});
n = floor (sqrt (bytes / 28)); % at the most: the matrix, a product, and one of them turned or sorted
rand ("seed", 1);
a = mod (reshape (1:n * n, n, n) * 7919, 10007) / 10007;
b = a .* a' + 0.5;
printf ("%.9g %.9g\n", sum (b(:)), max (b(:, 5)));
c = sort (b);
printf ("%.9g\n", sum (c(1, :)) + sum (c(end, :)));
v = b * ones (n, 1);
printf ("%.9g\n", norm (v));
