/* Ranks in plain C, without a net: y = w x + b is fitted to points of which every rank has some of its own. Each step
 * sums the gradients over the ranks, so all of them have the same numbers at all times.
 *
 *   ./ranks                  one rank
 *   mpirun -n 4 ./ranks      four
 */

#include <robusta.h>
#include <stdio.h>

enum { kPoints = 64, kSteps = 400 };

/* Ends the program where a call failed; the launcher ends the other ranks. */
#define CHECK(call)                                         \
  do {                                                      \
    const int kind = (call);                                \
    if (kind != 0) {                                        \
      fprintf(stderr, "ranks: %s\n", robusta_last_error()); \
      return kind;                                          \
    }                                                       \
  } while (0)

int main(void) {
  robusta_ranks* ranks = NULL;
  float w = 0, b = 0;

  CHECK(robusta_ranks_world(&ranks));
  const int rank = robusta_ranks_rank(ranks), size = robusta_ranks_size(ranks);
  if (rank == 0) b = 5; /* a bad start, which all have to share */
  CHECK(robusta_ranks_broadcast(ranks, &b, sizeof b, 0));

  for (int step = 0; step < kSteps; ++step) {
    float dw = 0, db = 0;
    for (int i = rank; i < kPoints; i += size) { /* this rank's points, on the line y = 2 x - 1 */
      const float x = (float)i / kPoints, error = w * x + b - (2 * x - 1);
      dw += error * x;
      db += error;
    }
    float* const gradients[] = {&dw, &db};
    const size_t counts[] = {1, 1};
    CHECK(robusta_ranks_all_reduce_n(ranks, 2, gradients, counts));
    w -= dw / kPoints;
    b -= db / kPoints;
  }

  if (rank == 0) printf("%d ranks, %d on %s: y = %.3f x + %.3f\n", size, robusta_ranks_local_size(ranks),
                        robusta_ranks_host(ranks), w, b);
  CHECK(robusta_ranks_barrier(ranks));
  robusta_ranks_free(ranks);
  return w > 1.9f && w < 2.1f ? 0 : 1;
}
