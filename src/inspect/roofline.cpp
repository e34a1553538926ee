// Bounds from work and peaks; numbers with as many digits as the noise of a measurement leaves.

#include "inspect/roofline.h"

#include <algorithm>
#include <cstdio>

#include "base/str.h"
#include "inspect/text_table.h"

namespace robusta {
namespace {

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

double giga(double count) { return count * 1e-9; }

RooflineRow row_of(const LayerTime& time, const LayerWork& work, bool backward, int passes,
                   const ProcessorPeaks& peaks) {
  RooflineRow row;
  row.layer = time.layer;
  row.backward = backward;
  row.seconds = (backward ? time.backward_ms : time.forward_ms) * 1e-3 / passes;
  row.work = backward ? work.backward : work.forward;
  const double peak = work.storage == DType::kF32 ? peaks.f32 : std::max(peaks.f32, peaks.bf16());
  const double arithmetic = peak > 0 ? row.work.flops / peak : 0;
  const double memory = peaks.memory > 0 ? row.work.bytes / peaks.memory : 0;
  row.bound = std::max(arithmetic, memory);
  row.by_arithmetic = arithmetic > memory;
  return row;
}

/// Measured and possible seconds of some rows.
struct Sums {
  double seconds = 0, bound = 0;
  void add(const RooflineRow& row) {
    seconds += row.seconds;
    bound += row.bound;
  }
  std::string text(const std::string& what) const {
    return str(what, ": ", number(seconds * 1e3, 3), " ms, bound ", number(bound * 1e3, 3), " ms, share ",
               number(seconds > 0 ? bound / seconds : 0, 2), "\n");
  }
};

}  // namespace

std::vector<RooflineRow> roofline(const std::vector<LayerTime>& times, const std::vector<LayerWork>& work, int passes,
                                  const ProcessorPeaks& peaks) {
  std::vector<RooflineRow> rows;
  for (size_t layer = 0; layer < times.size(); ++layer) {
    for (const bool backward : {false, true}) {
      const RooflineRow row = row_of(times[layer], work[layer], backward, passes, peaks);
      if (row.seconds > 0) rows.push_back(row);
    }
  }
  return rows;
}

void print_roofline(std::ostream& out, const std::vector<RooflineRow>& rows, const ProcessorPeaks& peaks) {
  Sums all, by_arithmetic, by_memory;
  for (const RooflineRow& row : rows) {
    all.add(row);
    (row.by_arithmetic ? by_arithmetic : by_memory).add(row);
  }
  out << "Roofline: " << describe(peaks) << "\n";
  TextTable table;
  table.add({"layer", "pass", "ms", "of all", "GFLOP/s", "GB/s", "bound by", "share"});
  for (const RooflineRow& row : rows) {
    table.add({row.layer, row.backward ? "backward" : "forward", number(row.seconds * 1e3, 3),
               number(100 * row.seconds / all.seconds, 1) + " %", number(giga(row.work.flops) / row.seconds, 1),
               number(giga(row.work.bytes) / row.seconds, 1), row.by_arithmetic ? "arithmetic" : "memory",
               number(row.share(), 2)});
  }
  table.print(out);
  out << by_arithmetic.text("bound by arithmetic") << by_memory.text("bound by memory") << all.text("all layers");
}

std::string describe(const ProcessorPeaks& peaks) {
  std::string text = str("f32 ", number(giga(peaks.f32), 1), " GFLOP/s");
  if (peaks.avx512_bf16 > 0) text += str(", AVX512_BF16 ", number(giga(peaks.avx512_bf16), 1), " GFLOP/s");
  if (peaks.amx_bf16 > 0) text += str(", AMX ", number(giga(peaks.amx_bf16), 1), " GFLOP/s");
  return text + (peaks.memory > 0 ? str(", memory ", number(giga(peaks.memory), 1), " GB/s") : "");
}

}  // namespace robusta
