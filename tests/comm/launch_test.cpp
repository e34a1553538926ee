#include "comm/launch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "base/str.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test::launch_test {
namespace {

using Environment = std::map<std::string, std::string>;

std::function<const char*(const char*)> getter(const Environment& environment) {
  return [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
}

Launch launch_of(const Environment& environment) { return find_launch(getter(environment)); }
Grant grant_of(const Environment& environment) { return find_grant(getter(environment)); }

const Environment kSlurmStep{
    {"SLURM_PROCID", "3"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_NTASKS", "8"}};

Environment with(Environment environment, const std::string& name, const std::string& value) {
  environment[name] = value;
  return environment;
}

/// What a process alone is told.
std::string refused(const Environment& environment) {
  const Error error = error_of([&] { check_launch(launch_of(environment), 1); });
  EXPECT_EQ(error.kind(), ErrorKind::kCommunication);
  EXPECT_TRUE(contains(error.cause(), "each would train alone")) << error.cause();
  EXPECT_TRUE(contains(error.fix(), "mpirun -n ")) << error.fix();
  return str(error.cause(), " | ", error.fix());
}

std::string defect_of(const Environment& environment) {
  const Error error = error_of([&] { check_launch(launch_of(environment), 1); });
  EXPECT_EQ(error.kind(), ErrorKind::kCommunication);
  return error.what();
}

}  // namespace

TEST(LaunchTest, ByHand) {
  EXPECT_EQ(launch_of({}).variable, "");
  check_launch(launch_of({}), 1);
  check_launch(launch_of({}), 0);
}

// A batch script is one process, whatever it has been granted.
TEST(LaunchTest, BatchScripts) {
  EXPECT_EQ(launch_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "4"}}).variable, "");
  EXPECT_EQ(launch_of({{"PBS_TASKNUM", "1"}, {"PBS_NODEFILE", "/f"}}).variable, "");
}

TEST(LaunchTest, Launchers) {
  const Launch open_mpi = launch_of({{"OMPI_COMM_WORLD_SIZE", "8"}});
  EXPECT_EQ(open_mpi.ranks, 8);
  EXPECT_TRUE(open_mpi.has_rendezvous);
  EXPECT_EQ(launch_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}).ranks, 4);
  const Launch pmix = launch_of(with(kSlurmStep, "PMIX_RANK", "3"));
  EXPECT_EQ(pmix.ranks, 8);
  EXPECT_TRUE(pmix.has_rendezvous);
  EXPECT_EQ(pmix.rank, 3);
  EXPECT_EQ(launch_of({{"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_RANK", "5"}}).rank, 5);
  EXPECT_EQ(launch_of(kSlurmStep).rank, 3);
  // mpirun inside a Slurm job starts its daemons by srun, and the ranks inherit their step.
  EXPECT_EQ(launch_of(with(kSlurmStep, "OMPI_COMM_WORLD_SIZE", "16")).ranks, 16);
  EXPECT_FALSE(launch_of(kSlurmStep).has_rendezvous);
}

TEST(LaunchTest, ManySinglesAreRefused) {
  const auto refused = [](const Environment& environment, int world) {
    const Error error = error_of([&] { check_launch(launch_of(environment), world); });
    EXPECT_EQ(error.kind(), ErrorKind::kCommunication);
    EXPECT_FALSE(error.fix().empty());
    return error.cause();
  };
  EXPECT_TRUE(
      contains(refused({{"OMPI_COMM_WORLD_SIZE", "4"}}, 1),
               "Open MPI's mpirun started 4 processes (OMPI_COMM_WORLD_SIZE=4), and they do not find each other: "
               "each would train alone"));
  EXPECT_TRUE(contains(refused({{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}, 1), "MPICH"));
  EXPECT_TRUE(contains(refused(kSlurmStep, 1), "srun without --mpi=pmix started 8"));
  EXPECT_TRUE(contains(refused(with(kSlurmStep, "PMIX_RANK", "0"), 1), "started 8 processes"));
  EXPECT_TRUE(contains(refused({{"PBS_TASKNUM", "3"}}, 1), "pbsdsh"));
  EXPECT_TRUE(contains(refused({{"OMPI_COMM_WORLD_SIZE", "4"}}, 0), "this build has no MPI"));
  EXPECT_TRUE(contains(refused({{"OMPI_COMM_WORLD_SIZE", "4"}}, 3), "but MPI has 3 ranks"));
}

/// Launchers of other frameworks: without MPI each process would train alone, into the files of all.
TEST(LaunchTest, ManySinglesOfOtherFrameworksAreRefused) {
  const Environment torch{{"RANK", "1"}, {"WORLD_SIZE", "4"}};  // and no word of where they meet
  EXPECT_TRUE(contains(refused(torch), "torchrun")) << refused(torch);
  EXPECT_TRUE(contains(refused(torch), "started 4 processes (WORLD_SIZE=4)")) << refused(torch);
  EXPECT_TRUE(contains(refused(torch), "env -u WORLD_SIZE caffe train")) << refused(torch);
  EXPECT_EQ(launch_of(torch).rank, 1);
  EXPECT_TRUE(contains(refused({{"HOROVOD_RANK", "0"}, {"HOROVOD_SIZE", "2"}}), "horovodrun started 2"));
  EXPECT_TRUE(contains(refused({{"DMLC_NUM_WORKER", "3"}, {"DMLC_WORKER_ID", "0"}}), "DMLC_NUM_WORKER=3"));
  EXPECT_TRUE(contains(refused({{"JSM_NAMESPACE_SIZE", "6"}, {"JSM_NAMESPACE_RANK", "5"}}), "jsrun started 6"));
  EXPECT_TRUE(contains(refused({{"PMIX_RANK", "2"}}), "started 3 processes"));
}

TEST(LaunchTest, TensorFlowsClusterIsCounted) {
  const Launch launch =
      launch_of({{"TF_CONFIG", R"({"cluster": {"chief": ["a:2222"], "worker": ["b:2222", "[::1]:2222"], "ps": ["c:1"]},
                        "task": {"type": "worker", "index": 1}})"}});
  EXPECT_EQ(launch.variable, "TF_CONFIG");
  EXPECT_EQ(launch.ranks, 4);
  EXPECT_EQ(launch.rank, 2) << "the chief is the first";
  EXPECT_FALSE(launch.has_rendezvous);
  EXPECT_EQ(launch.servers, 1);
  EXPECT_EQ(launch.meeting_host, "a");
  EXPECT_EQ(error_of([&] { check_launch(launch, 1); }).kind(), ErrorKind::kCommunication);
  const auto task = [](const char* type, int index) {
    return launch_of(
        {{"TF_CONFIG", str(R"({"cluster": {"worker": ["a:1", "b:1"], "ps": ["c:1", "d:1"]}, "task": {"type": ")", type,
                           R"(", "index": )", index, "}}")}});
  };
  EXPECT_EQ(task("ps", 1).rank, 3) << "servers are the last";
  EXPECT_EQ(task("ps", 2).meeting_host, "") << "there is no such server";
  EXPECT_EQ(task("worker", 0).servers, 2);
  EXPECT_EQ(launch_of({{"TF_CONFIG", R"({"cluster": {"ps": ["c:1", "d:1"]}, "task": {"type": "ps"}})"}}).meeting_host,
            "")
      << "nobody trains";
  for (const char* one : {"", "{}", "{\"cluster\": {\"worker\": [\"a:1\"]}}"}) {
    EXPECT_EQ(launch_of({{"TF_CONFIG", one}}).variable, "") << one;
  }
}

TEST(LaunchTest, WhatIsNoNumberIsAnErrorAndNotOneProcess) {
  for (const char* none : {"abc", "-5", "8x", "99999999999", "2147483647", " 2"}) {
    for (const char* size : {"OMPI_COMM_WORLD_SIZE", "WORLD_SIZE", "HOROVOD_SIZE", "PMI_SIZE"}) {
      const std::string why = defect_of({{size, none}});
      EXPECT_TRUE(contains(why, str(size, "=", none, " does not say how many"))) << why;
      EXPECT_TRUE(contains(why, str("env -u ", size))) << why;
    }
    EXPECT_TRUE(contains(defect_of({{"WORLD_SIZE", "4"}, {"RANK", none}}), str("RANK=", none)));
    EXPECT_TRUE(contains(defect_of({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", none}}), "RANK="));
    EXPECT_TRUE(contains(defect_of(with(kSlurmStep, "SLURM_PROCID", none)), "SLURM_PROCID="));
  }
  for (const char* cut : {"{", "nonsense", "{\"cluster\"", "{\"cluster\": {\"worker\": [\""}) {
    EXPECT_TRUE(contains(defect_of({{"TF_CONFIG", cut}}), "env -u TF_CONFIG")) << cut;
  }
  check_launch(launch_of({{"WORLD_SIZE", ""}}), 1);
  check_launch(launch_of({{"WORLD_SIZE", "abc"}, {"OMPI_COMM_WORLD_SIZE", "2"}}), 2);  // mpirun within
}

TEST(LaunchTest, RanksMeetWhereTorchrunSays) {
  const Environment torch{{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}};
  const Launch launch = launch_of(torch);
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.ranks, 4);
  EXPECT_FALSE(launch.has_rendezvous) << "of MPI";
  EXPECT_EQ(launch.meeting_host, "a");
  EXPECT_EQ(launch.meeting_port, 29500);
  check_launch(launch, 4);
  // torchrun's own process listens at the port that it tells.
  EXPECT_EQ(launch_of(with(torch, "TORCHELASTIC_USE_AGENT_STORE", "True")).meeting_port, 29501);
  EXPECT_EQ(launch_of(with(torch, "TORCHELASTIC_USE_AGENT_STORE", "False")).meeting_port, 29500);
  EXPECT_EQ(launch_of(with(torch, "ROBUSTA_PORT", "7")).meeting_port, 7);
  EXPECT_EQ(launch_of(with(torch, "OMPI_COMM_WORLD_SIZE", "4")).meeting_host, "") << "mpirun within";
  for (const char* port : {"", "0", "65536", "x"})
    EXPECT_EQ(launch_of(with(torch, "ROBUSTA_PORT", port)).meeting_port, 29500);
  EXPECT_EQ(
      launch_of({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}}).meeting_host, "");
}

TEST(LaunchTest, RanksMeetAtTheFirstOfTensorFlowsCluster) {
  const auto of = [](const std::string& type, int index, const std::string& chief = R"("chief": ["a:2222"], )") {
    return launch_of({{"TF_CONFIG", str(R"({"cluster": {)", chief, R"("worker": ["b:1", "c:2"]}, "task": {"type": ")",
                                        type, R"(", "index": )", index, "}}")}});
  };
  EXPECT_EQ(of("worker", 1).meeting_host, "a");
  EXPECT_EQ(of("worker", 1).meeting_port, 2222);
  EXPECT_EQ(of("worker", 1).rank, 2);
  EXPECT_EQ(of("worker", 1).ranks, 3);
  EXPECT_EQ(of("chief", 0).rank, 0);
  for (const int none : {-1, 2, 2147483647}) EXPECT_EQ(of("worker", none).meeting_host, "") << none;
  EXPECT_EQ(of("worker", 1, "").rank, 1);
  EXPECT_EQ(of("worker", 1, "").meeting_host, "b");
  EXPECT_EQ(of("worker", 2).meeting_host, "") << "there is no such worker";
  EXPECT_FALSE(of("worker", 0).evaluates);
  const Launch evaluator = of("evaluator", 0);
  EXPECT_TRUE(evaluator.evaluates);
  EXPECT_EQ(evaluator.meeting_host, "");
  EXPECT_EQ(evaluator.ranks, 0);
  check_launch(evaluator, 1);  // by itself
  // Those that train do so without it.
  const Launch worker = launch_of({{"TF_CONFIG", R"({"cluster": {"worker": ["b:1", "c:2"], "evaluator": ["d:3"]},
                                                    "task": {"type": "worker", "index": 1}})"}});
  EXPECT_EQ(worker.ranks, 2);
  EXPECT_EQ(worker.meeting_host, "b");
}

TEST(LaunchTest, OneProcessOfAnotherFrameworkMayTrain) {
  check_launch(launch_of({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), 1);
  check_launch(launch_of({{"HOROVOD_RANK", "0"}, {"HOROVOD_SIZE", "1"}}), 1);
  check_launch(launch_of({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), 1);  // mpirun -n 1
  check_launch(launch_of({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_SIZE", "2"}}), 2);
}

TEST(LaunchTest, WhatFitsIsTaken) {
  check_launch(launch_of({{"OMPI_COMM_WORLD_SIZE", "4"}}), 4);
  check_launch(launch_of({{"OMPI_COMM_WORLD_SIZE", "1"}}), 0);
  check_launch(launch_of({{"PMIX_RANK", "0"}}), 5);
  check_launch(launch_of({{"PMIX_RANK", "2"}}), 5);
  check_launch(launch_of(with(kSlurmStep, "SLURM_STEP_NUM_TASKS", "1")), 1);
}

TEST(GrantTest, OfBatchSystems) {
  EXPECT_EQ(grant_of({}).ranks, 0);
  EXPECT_EQ(grant_of({}).words, "");
  EXPECT_EQ(grant_of({{"SLURM_NTASKS", "8"}}).ranks, 8);
  EXPECT_EQ(grant_of({{"SLURM_NTASKS", "8"}}).words, "Slurm granted 8 tasks (SLURM_NTASKS=8)");
  EXPECT_EQ(grant_of({{"SLURM_NTASKS", "1"}}).words, "Slurm granted 1 task (SLURM_NTASKS=1)");
  const TempDir folder;
  const std::string nodes = folder / "nodes";
  write_file(nodes, "a\na\nb\n\n");
  EXPECT_EQ(grant_of({{"PBS_NODEFILE", nodes}}).ranks, 3);
  EXPECT_EQ(grant_of({{"PBS_NODEFILE", nodes}}).words, "PBS granted 3 slots (the lines of PBS_NODEFILE=" + nodes + ")");
  EXPECT_EQ(grant_of({{"PBS_NODEFILE", folder / "elsewhere"}}).words, "");
  EXPECT_EQ(grant_of({{"SLURM_NTASKS", "many"}}).words, "");
}

// None of these ends, and nobody may wait for it.
TEST(GrantTest, AListThatIsNoFileIsNone) {
  const TempDir folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero"), folder.path().string()}) {
    EXPECT_EQ(grant_of({{"PBS_NODEFILE", path}}).ranks, 0) << path;
  }
}

}  // namespace robusta::test::launch_test
