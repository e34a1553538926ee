// `caffe check`: what it finds, what it says, and how it ends.
#include <gtest/gtest.h>

#include <omp.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

#include "app/checks/check_report.h"
#include "app/checks/fabric.h"
#include "app/checks/input_checks.h"
#include "base/str.h"
#include "comm/thread_ranks.h"
#include "data/sample_db.h"
#include "solver/process.h"
#include "solver/toy_solver.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/places.h"

namespace robusta::test {
namespace {

std::vector<HostFacts> equal_ranks(size_t count) {
  HostFacts facts;
  for (int cpu = 0; cpu < 4; ++cpu) facts.cores.add(cpu);
  facts.threads = 2;
  return std::vector<HostFacts>(count, facts);
}

TEST(HostFacts, EqualRanksWithRoomGiveNoWarning) {
  const auto facts = equal_ranks(4);
  EXPECT_TRUE(cores_warnings(facts, {"a", "a", "b", "b"}).empty());
  EXPECT_TRUE(memlock_warnings(facts).empty());
  EXPECT_TRUE(variable_warnings(facts).empty());
}

TEST(HostFacts, MoreThreadsThanProcessorsAreNamedByHost) {
  auto facts = equal_ranks(4);
  facts[3].threads = 3;
  const auto warnings = cores_warnings(facts, {"a", "a", "b", "b"});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].text, "b has 4 processors (0-3) for 5 threads of 2 ranks");
  EXPECT_TRUE(contains(warnings[0].fix, "OMP_NUM_THREADS=2"));
  // One thread each is the least there is.
  const auto crowded = cores_warnings(equal_ranks(5), std::vector<std::string>(5, "a"));
  EXPECT_EQ(crowded.at(0).text, "a has 4 processors (0-3) for 10 threads of 5 ranks");
  EXPECT_FALSE(contains(crowded.at(0).fix, "OMP_NUM_THREADS"));
}

TEST(HostFacts, RanksThatWereNotStartedAreMissed) {
  const Grant grant{"Slurm granted 4 tasks (SLURM_NTASKS=4)", 4};
  EXPECT_TRUE(grant_warnings({}, 1).empty());
  EXPECT_TRUE(grant_warnings(grant, 4).empty());
  EXPECT_TRUE(grant_warnings(grant, 8).empty());
  EXPECT_EQ(grant_warnings(grant, 1).at(0).text, "Slurm granted 4 tasks (SLURM_NTASKS=4), but 1 rank trains");
  EXPECT_EQ(grant_warnings(grant, 2).at(0).text, "Slurm granted 4 tasks (SLURM_NTASKS=4), but 2 ranks train");
  EXPECT_TRUE(contains(grant_warnings(grant, 2).at(0).fix, "mpirun -n 4"));
}

TEST(HostFacts, LimitedMemoryMattersWhereThereIsInfiniBand) {
  auto facts = equal_ranks(3);
  facts[1].memlock = facts[2].memlock = 64 << 10;
  EXPECT_TRUE(memlock_warnings(facts).empty()) << "without a device";
  facts[2].infiniband = true;
  const auto warnings = memlock_warnings(facts);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(contains(warnings[0].text, "rank 2 may lock only 64 KiB"));
  for (HostFacts& rank : facts) rank.infiniband = true, rank.memlock = 1 << 20;
  EXPECT_TRUE(contains(memlock_warnings(facts)[0].text, "all ranks may lock only 1024 KiB"));
}

TEST(HostFacts, DevicesAreThoseOfTheFolder) {
  const TempDir folder;
  EXPECT_FALSE(own_facts(folder.path()).infiniband);
  EXPECT_FALSE(own_facts(folder / "none").infiniband);
  write_file(folder / "mlx5_0", "");
  EXPECT_TRUE(own_facts(folder.path()).infiniband);
}

TEST(HostFacts, SearchPathsThatFindTheSameAreEqual) {
  // Of a rank beside mpirun, of one on another host, and where LD_LIBRARY_PATH was not set before.
  for (const char* path :
       {"/usr/lib:/opt/lib", "/usr/lib:/usr/lib:/opt/lib", "/usr/lib:/opt/lib:", "/usr/lib::/opt/lib"}) {
    EXPECT_EQ(search_path(path), "/usr/lib:/opt/lib");
  }
  EXPECT_NE(search_path("/opt/lib:/usr/lib"), "/usr/lib:/opt/lib") << "the order counts";
  EXPECT_EQ(search_path(":"), "");
  EXPECT_EQ(search_path("4"), "4") << "OMP_NUM_THREADS";
}

TEST(HostFacts, OtherVariablesAreNamedWithTheirRanks) {
  auto facts = equal_ranks(4);
  facts[2].variables[1] = 7;
  const auto warnings = variable_warnings(facts);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].text, "LD_LIBRARY_PATH of rank 2 is not that of the other ranks");
  EXPECT_TRUE(contains(warnings[0].fix, "mpirun -x LD_LIBRARY_PATH"));
}

TEST(Fabric, EachDimensionIsMeasured) {
  std::vector<FabricDimension> fabric;
  std::string reach;
  run_thread_ranks(
      4,
      [&](Communicator& world) {
        omp_set_num_threads(1);
        Ranks ranks(world, parse_ddl_options("-mode b:2x2"));
        const std::string text = check_reachability(ranks);
        const std::vector<FabricDimension> mine = measure_fabric(ranks);
        if (!ranks.root()) return;
        fabric = mine;
        reach = text;
      },
      2);
  EXPECT_TRUE(matches(reach, R"(^each rank reaches 2 others; the slowest exchange of 4 KB takes [\d.e-]+ ms at rank)"))
      << reach;
  ASSERT_EQ(fabric.size(), 2u);
  EXPECT_TRUE(fabric[0].one_host);
  EXPECT_FALSE(fabric[1].one_host);
  for (const FabricDimension& dimension : fabric) {
    EXPECT_EQ(dimension.members, 2);
    ASSERT_EQ(dimension.speeds.size(), 3u);
    EXPECT_GT(dimension.speeds[2].slowest, dimension.speeds[0].fastest);
    EXPECT_TRUE(matches(describe(dimension), R"(^64 KB \S+ ms, 1 MB \S+ ms, 16 MB \S+ ms = \S+ GB/s$)"));
  }
  const FabricSpeed speed{8e9, 1, 2, 0};
  EXPECT_DOUBLE_EQ(speed.gb_per_second(4), 2.0 * 3 / 4 * 8 / 2);
}

/// The check of one rank fails; all learn of it, rank 0 prints it, and the next one is made all the same.
TEST(CheckReport, AFailureOfOneRankEndsNoCheckButItsOwn) {
  std::ostringstream out;
  std::vector<int> codes(3);
  run_thread_ranks(3, [&](Communicator& world) {
    Ranks ranks(world, {});
    CheckReport report(ranks, out);
    EXPECT_FALSE(report.run("first", [&] {
      ranks.together([&] {
        if (ranks.rank() == 1) throw Error(ErrorKind::kData, "record 7 is broken", "replace it");
      });
      return std::string("not reached");
    }));
    EXPECT_TRUE(report.run("second", [&] { return std::string("fine"); }));
    EXPECT_FALSE(ranks.failed_together());
    codes[static_cast<size_t>(ranks.rank())] = report.finish();
  });
  EXPECT_EQ(codes, std::vector<int>(3, static_cast<int>(ErrorKind::kData)));
  EXPECT_EQ(out.str(),
            "FAILED   first          rank 1: record 7 is broken; replace it\n"
            "ok       second         fine\n"
            "1 check failed: exit code 3.\n");
}

/// A folder with a database of 30 records, and a solver that trains on it.
class CheckProgram : public testing::Test {
 protected:
  void SetUp() override {
    write_database(folder_ / "db", 30, [&](int i) {
      const caffe::Datum datum = raw_datum({1, 4, 4}, i == 17 ? odd_label_ : i % 2, static_cast<uint64_t>(i));
      return i == broken_ ? cut_off(datum) : datum;
    });
    solver("");
  }
  void solver(const std::string& more) {
    write_file(folder_ / "solver.prototxt",
               "base_lr: 0.01 lr_policy: 'fixed' max_iter: 10 snapshot_prefix: 'toy' random_seed: 1 " + more + R"(
net_param { name: 'toy'
  layer { name: 'data' type: 'Data' top: 'data' top: 'label' data_param { source: 'db' batch_size: 4 } }
  layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { num_output: 2 } }
  layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' } })");
  }
  Finished check() { return run_caffe_program(folder_.path(), {"check", "-solver=solver.prototxt"}); }
  Finished run(int ranks, const std::string& arguments) { return run_ranks(folder_.path(), ranks, arguments); }

  static caffe::Datum cut_off(caffe::Datum datum) {
    datum.mutable_data()->resize(5);
    return datum;
  }

  TempDir folder_;
  int broken_ = -1, odd_label_ = 0;
};

class CheckProgramWithABrokenRecord : public CheckProgram {
 protected:
  CheckProgramWithABrokenRecord() { broken_ = 29; }
};

TEST_F(CheckProgram, PassesWithoutTraining) {
  const Finished done = check();
  EXPECT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(contains(done.out, "30 records; the first and the last batch of each rank can be read"));
  EXPECT_TRUE(contains(done.out, "Training can start"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "toy_iter_10.caffemodel"));
}

TEST_F(CheckProgram, NeedsASolver) {
  const Finished done = run_caffe_program(folder_.path(), {"check"});
  EXPECT_EQ(done.code, 1);
  EXPECT_TRUE(contains(done.log, "caffe check needs -solver"));
}

TEST_F(CheckProgram, EndsWithTheCodeOfWhatItFinds) {
  solver("snapshot_prefix_typo: 1");
  EXPECT_EQ(check().code, 2);
  solver("");
  std::filesystem::rename(folder_ / "db", folder_ / "elsewhere");
  const Finished data = check();
  EXPECT_EQ(data.code, 3);
  EXPECT_TRUE(matches(data.out, "FAILED   nets .*db")) << data.out;
  EXPECT_TRUE(contains(data.out, "1 check failed: exit code 3"));
}

TEST_F(CheckProgram, AFolderThatIsNotThereIsAnOutputError) {
  write_file(folder_ / "solver.prototxt",
             std::regex_replace(read_file(folder_ / "solver.prototxt"), std::regex("'toy' random"), "'no/toy' random"));
  const Finished done = check();
  EXPECT_EQ(done.code, 7);
  EXPECT_TRUE(matches(done.out, "FAILED   snapshots .*no/toy")) << done.out;
}

TEST_F(CheckProgramWithABrokenRecord, TheLastRecordIsRead) {
  const Finished done = check();
  EXPECT_EQ(done.code, 3);
  EXPECT_TRUE(matches(done.out, "FAILED   data .*00000029")) << done.out;
}

TEST_F(CheckProgram, LabelsOfTheClassesPass) {
  EXPECT_TRUE(contains(check().out, "ok       labels         0..1 in 30 records of db, for 2 classes"));
}

class CheckProgramWithAnOddLabel : public CheckProgram {
 protected:
  CheckProgramWithAnOddLabel() { odd_label_ = 5; }
};

TEST_F(CheckProgramWithAnOddLabel, ALabelBeyondNumOutputIsNamed) {
  const std::string want =
      "FAILED   labels         .*solver\\.prototxt: layer \"loss\": label 5 of record 00000017 in db \\(layer "
      "\"data\"\\) is "
      "out "
      "of range 0\\.\\.1: num_output of layer \"ip\" is 2";
  const Finished done = check();
  EXPECT_EQ(done.code, 3);
  EXPECT_TRUE(matches(done.out, want)) << done.out;
  EXPECT_TRUE(contains(done.out, "give layer \"ip\" num_output: 6 or more (labels count from 0)")) << done.out;
  if (no_processes_as_ranks().empty()) {
    const Finished ranks = run(3, "check -solver solver.prototxt");
    EXPECT_EQ(ranks.code, 3);
    EXPECT_TRUE(matches(ranks.out, want)) << ranks.out;
  }
}

TEST_F(CheckProgramWithAnOddLabel, AnIgnoredOneIsNoFault) {
  const std::string text = read_file(folder_ / "solver.prototxt");
  write_file(folder_ / "solver.prototxt",
             std::regex_replace(text, std::regex("top: 'loss'"), "top: 'loss' loss_param { ignore_label: 5 }"));
  const Finished done = check();
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_TRUE(contains(done.out, "0..5 in 30 records of db, for 2 classes")) << done.out;
}

TEST_F(CheckProgram, OfSeveralRanksNamesTheOneWithAnotherSolver) {
  if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
  const Finished good = run(3, "check -solver solver.prototxt");
  EXPECT_EQ(good.code, 0) << good.log;
  EXPECT_TRUE(matches(good.out, "ok       reachability   each rank reaches 2 others")) << good.out;
  EXPECT_TRUE(matches(good.out, "ok         X            3 ranks, within a host: 64 KB .* GB/s")) << good.out;

  const std::string text = read_file(folder_ / "solver.prototxt");
  std::filesystem::create_directory(folder_ / "other");
  std::filesystem::copy(folder_ / "db", folder_ / "other/db", std::filesystem::copy_options::recursive);
  write_file(folder_ / "other/solver.prototxt", "momentum: 0.5 " + text);
  write_file(folder_ / "run.sh",
             "[ \"$OMPI_COMM_WORLD_RANK\" != 1 ] || cd other; exec " + tools_dir() + "/caffe \"$@\"");
  const Finished bad = run_ranks(folder_.path(), 3, "check -solver solver.prototxt", "sh run.sh");
  EXPECT_EQ(bad.code, 8) << bad.log;
  EXPECT_TRUE(matches(bad.out, "FAILED   program        the solver solver.prototxt of rank 1 is not that")) << bad.out;
  EXPECT_TRUE(contains(bad.out, "--       data           not looked at"));
}

TEST_F(CheckProgram, TrainingWarnsOnceOfWhatItsHostLacks) {
  if (const std::string why = no_processes_as_ranks(); !why.empty()) GTEST_SKIP() << why;
  const int processors = own_cores().count(), ranks = 2;
  const std::string program = str("env SLURM_NTASKS=3 OMP_NUM_THREADS=", processors, ' ', tools_dir(), "/caffe");
  const Finished done = run_ranks(folder_.path(), ranks, "train -solver solver.prototxt", program);
  ASSERT_EQ(done.code, 0) << done.log;
  const auto count = [&](const std::string& pattern) {
    const std::regex regex(pattern);
    return std::distance(std::sregex_iterator(done.log.begin(), done.log.end(), regex), std::sregex_iterator());
  };
  EXPECT_EQ(count(str("for ", ranks * processors, " threads of 2 ranks; start fewer ranks")), 1) << done.log;
  EXPECT_EQ(count("the rank was given too few"), 0) << done.log;
  EXPECT_EQ(count("Slurm granted 3 tasks \\(SLURM_NTASKS=3\\), but 2 ranks train; start all"), 1) << done.log;
}

}  // namespace
}  // namespace robusta::test
