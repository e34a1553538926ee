/// Which layers are best cut among ranks, and into how many parts: a model of what an iteration takes (`-fit`).
///
/// Everything here is a pure function of sizes and speeds. An iteration is simulated: forward, layer by layer, with the
/// exchange of activations where a layer is cut; backward likewise, while another thread sums the gradients of the last
/// pass, bucket by bucket, in the order in which they are complete; and the update. Layers are cut one after the other,
/// the one that saves most first, as long as any saves enough.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace robusta {

/// A message, or a sum, of so many bytes takes latency + bytes * per_byte seconds.
struct LinkTime {
  double latency = 0, per_byte = 0;
  double of(double bytes) const { return bytes > 0 ? latency + bytes * per_byte : 0; }
};

/// By way of the ranks of a job, of which a layer of P parts has groups of P that have all parts, and groups of R / P
/// that have the same one.
struct FitLinks {
  LinkTime all = {};                       ///< a sum over all ranks, of its bytes
  std::map<int, LinkTime> all_parts = {};  ///< by P: of bytes to each of the others, and as many from each
  std::map<int, LinkTime> same_part = {};  ///< by P: a sum
};

/// The same rate and latency between any two ranks: a sum is a reduce-scatter and an all-gather.
FitLinks even_links(int ranks, double bytes_per_second, double seconds);

/// A layer in so many parts.
struct FitOption {
  int parts = 1;
  double forward = 0, backward = 0;          ///< seconds of computing in a pass
  double update = 0;                         ///< and of an update
  double x = 0, y = 0;                       ///< bytes to each other rank, of inputs and of outputs; 0: not cut
  bool back = true, wants_x = true;          ///< outputs, and inputs, have gradients, which are as many bytes
  double gradients = 0;                      ///< bytes of parameters whose gradients are summed
  double sent_in_pass = 0, sent_in_sum = 0;  ///< bytes that a rank sends, for the table
};

struct FitLayer {
  std::string name;
  std::vector<FitOption> options;  ///< the first is how it is without being fitted; more: it may be cut so
};

struct FitProblem {
  std::vector<FitLayer> layers = {};  ///< in the order of forward
  FitLinks links = {};
  int passes = 1;                 ///< of an iteration
  double bucket = 4 * (1 << 20);  ///< bytes
};

/// The option of each layer that is taken.
using FitChoice = std::vector<size_t>;

/// Seconds of an iteration.
double iteration_seconds(const FitProblem& problem, const FitChoice& choice);
/// Less than 5 % of an iteration are not worth a cut: the model is not as exact as that.
FitChoice fit(const FitProblem& problem);

/// A table of the layers that may be cut: bytes and seconds of an iteration by itself, as it is and in the parts that
/// are taken, or else in those that would be best; and what an iteration takes in all.
std::vector<std::string> describe_fit(const FitProblem& problem, const FitChoice& choice);

}  // namespace robusta
