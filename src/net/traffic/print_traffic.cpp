// Prints what was counted: by unit, by what units are made of, and in all.

#include <iomanip>
#include <map>

#include "net/traffic/plan_traffic.h"

namespace robusta {
namespace {

std::string joined(const Graph& graph, const Unit& unit, bool types) {
  std::string text;
  for (const NodeId n : unit.nodes) {
    const Layer& layer = *graph.nodes[n].layer;
    text += (text.empty() ? "" : " + ") + (types ? layer.type() : layer.name());
  }
  return text;
}

/// Several units of one kind.
struct Row {
  int units = 0;
  PlanTraffic::Counted forward, backward;
  Row& operator+=(const PlanTraffic::OfUnit& unit) {
    ++units;
    forward += unit.forward;
    backward += unit.backward;
    return *this;
  }
  KernelTraffic all() const { return forward.all() += backward.all(); }
};

class Printer {
 public:
  explicit Printer(std::ostream& out) : out_(out) { out_ << std::fixed << std::setprecision(3); }
  ~Printer() { out_ << std::defaultfloat; }

  void head(const char* what) {
    out_ << std::left << std::setw(kName) << what << std::right << std::setw(6) << "units" << std::setw(18)
         << "launches f/b" << std::setw(10) << "GB f" << std::setw(10) << "GB b" << std::setw(12) << "GFLOP"
         << std::setw(10) << "ms"
         << "  bound\n";
  }
  void row(const std::string& name, const Row& row) {
    const KernelTraffic forward = row.forward.all(), backward = row.backward.all(), all = row.all();
    out_ << std::left << std::setw(kName) << shortened(name) << std::right << std::setw(6) << row.units << std::setw(9)
         << forward.launches << std::setw(9) << backward.launches << std::setw(10) << forward.bytes / 1e9
         << std::setw(10) << backward.bytes / 1e9 << std::setw(12) << all.flops / 1e9 << std::setw(10)
         << 1e3 * all.seconds() << "  " << (all.launches > 0 ? all.bound() : "-") << "\n";
  }
  void sum(const char* name, const KernelTraffic& sum) {
    out_ << std::left << std::setw(kName) << name << std::right << std::setw(8) << sum.launches << " launches"
         << std::setw(11) << sum.bytes / 1e9 << " GB" << std::setw(13) << sum.flops / 1e9 << " GFLOP" << std::setw(11)
         << 1e3 * sum.seconds() << " ms  " << sum.bound() << "\n";
  }

 private:
  static constexpr int kName = 44;
  static std::string shortened(const std::string& name) {
    constexpr size_t kMost = kName - 1;
    // Not joined by +, of which GCC 12 warns wrongly (its bug 105651).
    return name.size() <= kMost ? name : std::string(name).replace(kMost - 3, std::string::npos, "...");
  }
  std::ostream& out_;
};

}  // namespace

void print_traffic(std::ostream& out, const Net& net, const GpuRates& gpu, const PlanTraffic& traffic) {
  out << std::defaultfloat << std::setprecision(6) << "Traffic of "
      << (net.options().backward ? "an iteration" : "a forward pass") << ", predicted for " << gpu.name << ": "
      << gpu.tensor_16 / 1e12 << " TFLOP/s in 16 bits, " << gpu.tensor_tf32 / 1e12 << " in TF32, " << gpu.f32 / 1e12
      << " in f32, of which " << 100 * kReachedArithmetic << " % are taken for reached; " << gpu.memory / 1e9
      << " GB/s, of which " << 100 * kReachedMemory << " %; at least " << 1e6 * gpu.kernel_seconds << " us a kernel\n";
  Printer print(out);
  print.head("layers");
  std::map<std::string, Row> by_type;
  PlanTraffic::Counted all;
  for (const UnitId u : traffic.units.ids()) {
    const Unit& unit = net.plan().units[u];
    const PlanTraffic::OfUnit& counted = traffic.units[u];
    print.row(joined(net.graph(), unit, false) + (counted.by_host ? " (on the host)" : ""), Row{} += counted);
    by_type[joined(net.graph(), unit, true)] += counted;
    all += counted.forward;
    all += counted.backward;
  }
  print.head("types of layers");
  for (const auto& [types, row] : by_type) print.row(types, row);
  all += traffic.packing;
  all += traffic.unpacking;
  all += traffic.update;
  if (traffic.packing.all().launches > 0) print.sum("packing of parameters", traffic.packing.all());
  if (traffic.unpacking.all().launches > 0) print.sum("unpacking of gradients", traffic.unpacking.all());
  if (net.options().backward) print.sum("update", traffic.update.all());
  print.sum("convolutions and matrix products", all.products);
  print.sum("all other kernels", all.others);
  print.sum("in all", all.all());
  if (traffic.preparing.all().launches > 0) print.sum("only when weights have changed", traffic.preparing.all());
}

}  // namespace robusta
