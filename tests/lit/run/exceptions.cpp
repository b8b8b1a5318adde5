// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exceptions through, out of and inside nests.
// RUN: env FAKE_LEAVES_EARLY=1 %differential "%s" "%t"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

struct Noisy {
  int *Counter;
  ~Noisy() { ++*Counter; }
};

NOINLINE void mayThrow(int V) {
  if (V == 1234)
    throw std::runtime_error("1234");
}

NOINLINE long invokes(std::vector<int> &V, int &Destroyed) {
  long Sum = 0;
  for (std::size_t I = 0; I < V.size(); ++I) {
    Noisy N{&Destroyed};
    mayThrow(V[I]);
    Sum += V[I]++;
  }
  return Sum;
}

NOINLINE long catches(std::vector<int> &V) {
  long Caught = 0;
  for (int &X : V)
    try {
      mayThrow(X);
      X += 2;
    } catch (const std::exception &E) {
      Caught += E.what()[0];
    }
  return Caught;
}

NOINLINE long breaks(const std::vector<int> &V) {
  long Sum = 0;
  for (int X : V) {
    try {
      mayThrow(X);
    } catch (...) {
      break;
    }
    Sum += X;
  }
  return Sum;
}

NOINLINE double at(const std::vector<double> &V, long N) {
  double Sum = 0;
  for (long I = 0; I < N; ++I)
    Sum += V.at(I);
  return Sum;
}

template <typename T> NOINLINE void product(std::vector<T> &C, const std::vector<T> &A, const std::vector<T> &B, int N) {
  for (int I = 0; I < N; ++I)
    for (int J = 0; J < N; ++J)
      for (int K = 0; K < N; ++K)
        C[I * N + J] += A[I * N + K] * B[K * N + J];
}

NOINLINE std::vector<std::string> strings(int N) {
  std::vector<std::string> Result;
  for (int I = 0; I < N; ++I)
    Result.push_back(std::to_string(I * 37 % 101) + " a text that is long enough for the heap");
  std::sort(Result.begin(), Result.end());
  return Result;
}

int main() {
  std::vector<int> V(3000);
  std::iota(V.begin(), V.end(), -1500);
  int Destroyed = 0;
  for (int Round = 0; Round < 3; ++Round)
    try {
      std::printf("%ld\n", invokes(V, Destroyed));
    } catch (const std::runtime_error &E) {
      std::printf("caught %s after %d\n", E.what(), Destroyed);
    }
  std::printf("%ld %ld\n", catches(V), breaks(V));
  std::vector<double> D(1000, 1.25);
  try {
    std::printf("%g\n", at(D, 1000));
    std::printf("%g\n", at(D, 1001));
  } catch (const std::out_of_range &) {
    std::puts("out of range");
  }
  std::vector<float> A(40 * 40), B(40 * 40), C(40 * 40);
  std::iota(A.begin(), A.end(), 1.f);
  std::iota(B.begin(), B.end(), 2.f);
  product(C, A, B, 40);
  std::printf("%a\n", std::accumulate(C.begin(), C.end(), 0.0));
  auto S = strings(300);
  std::printf("%s %s\n", S.front().c_str(), S.back().c_str());
  std::vector<std::unique_ptr<int>> P;
  for (int I = 0; I < 500; ++I)
    P.push_back(std::make_unique<int>(I));
  long Sum = 0;
  for (auto &Q : P)
    Sum += *Q;
  std::printf("%ld\n", Sum);
}
