// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/clusters.h"
#include <algorithm>

namespace pagecast::core {
namespace {

/// The two clusters, by their lowest members, with the densest least dense pair; its density, or -1 if there are no two.
double densest(const double *linkage, uint32_t count, const uint32_t *cluster_of, uint32_t *into, uint32_t *from) {
  double best = -1;
  for (uint32_t a = 0; a < count; ++a)
    for (uint32_t b = a + 1; b < count && cluster_of[a] == a; ++b)
      if (cluster_of[b] == b && linkage[a * count + b] > best) {
        best = linkage[a * count + b];
        *into = a;
        *from = b;
      }
  return best;
}

} // namespace

uint32_t make_clusters(double *linkage, uint32_t count, double threshold, uint32_t *cluster_of) {
  for (uint32_t m = 0; m < count; ++m) cluster_of[m] = m; // a cluster goes by its lowest member meanwhile
  for (uint32_t into = 0, from = 0;;) {
    const double best = densest(linkage, count, cluster_of, &into, &from);
    if (best < threshold || best < 0) break;
    for (uint32_t m = 0; m < count; ++m) {
      if (cluster_of[m] == from) cluster_of[m] = into;
      double &joined = linkage[into * count + m];
      joined = linkage[m * count + into] = std::min(joined, linkage[from * count + m]);
    }
  }
  uint32_t clusters = 0;
  for (uint32_t m = 0; m < count; ++m) cluster_of[m] = cluster_of[m] == m ? clusters++ : cluster_of[cluster_of[m]];
  return clusters;
}

} // namespace pagecast::core
