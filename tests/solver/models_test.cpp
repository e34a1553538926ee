// Every solver in models/: it names its net by the path that users know, and its rate runs as its fields say.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "schema/read_text.h"
#include "solver/files/net_defs.h"
#include "solver/update/schedule.h"
#include "solver/update/update_rule.h"
#include "support/places.h"

namespace robusta::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> solvers() {
  std::vector<std::string> found;
  const fs::path root = source_dir();
  for (const auto& entry : fs::recursive_directory_iterator(root / "models")) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("solver.prototxt")) found.push_back(fs::relative(entry.path(), root).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Paths in solvers are relative to the project's folder.
class InSourceFolder {
 public:
  InSourceFolder() : before_(fs::current_path()) { fs::current_path(source_dir()); }
  ~InSourceFolder() { fs::current_path(before_); }

 private:
  fs::path before_;
};

TEST(ModelSolvers, NameTheirNets) {
  const InSourceFolder here;
  for (const std::string& path : solvers()) {
    SCOPED_TRACE(path);
    const SolverDef solver = read_solver(path);
    EXPECT_EQ(fs::path(solver.param.net()).parent_path(), fs::path(path).parent_path());
    EXPECT_EQ(fs::path(solver.param.snapshot_prefix()).parent_path(), fs::path(path).parent_path());
    EXPECT_GT(train_net_of(solver).definition().param.layer_size(), 0);
    EXPECT_EQ(test_nets_of(solver).size(), 1U);
  }
  EXPECT_GE(solvers().size(), 9U);
}

TEST(ModelSolvers, HaveRatesOverTheWholeRun) {
  const InSourceFolder here;
  for (const std::string& path : solvers()) {
    SCOPED_TRACE(path);
    const SolverDef solver = read_solver(path);
    EXPECT_NE(make_update_rule(solver), nullptr);
    const Schedule schedule(solver);
    PolicyState state;
    const caffe::SolverParameter& p = solver.param;
    const float first = p.warmup_iter() > 0 ? p.warmup_start_lr() : p.base_lr();
    EXPECT_FLOAT_EQ(static_cast<float>(schedule.rate(0, 1, state)), first);
    for (int64_t t = 1; t < p.max_iter(); t += p.max_iter() / 50) {
      const double rate = schedule.rate(t, 1, state);
      EXPECT_TRUE(rate > 0 && rate <= p.base_lr()) << "iteration " << t << ": " << rate;
    }
  }
}

TEST(ModelSolvers, MultinodeDataAreShuffled) {
  const InSourceFolder here;
  int seen = 0;
  for (const std::string& path : solvers()) {
    if (path.find("multinode/") == std::string::npos) continue;
    SCOPED_TRACE(path);
    const NetDef net = train_net_of(read_solver(path)).definition();
    ASSERT_EQ(net.param.layer(0).type(), "Data");
    EXPECT_TRUE(net.param.layer(0).data_param().shuffle());
    ++seen;
  }
  EXPECT_EQ(seen, 18);
}

}  // namespace
}  // namespace robusta::test
