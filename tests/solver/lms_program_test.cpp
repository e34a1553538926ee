// Large model support from outside: caffe on a fake GPU whose memory is too small for the net.

#include <gtest/gtest.h>

#include <cstdlib>

#include "device/sim/sim_device.h"
#include "schema/filter.h"
#include "schema/read_text.h"
#include "schema/splits.h"
#include "solver/process.h"
#include "support/files.h"
#include "support/lms.h"

namespace robusta::test {
namespace {

/// Five convolutions over images of noise.
std::string net_text() {
  std::string text = R"(name: "stack"
layer { name: "data" type: "DummyData" top: "data" top: "label"
        dummy_data_param { shape { dim: 8 dim: 3 dim: 24 dim: 24 } shape { dim: 8 }
                           data_filler { type: "gaussian" std: 1 } data_filler { type: "constant" value: 2 } } })";
  std::string bottom = "data";
  for (int i = 1; i <= 5; ++i) {
    const std::string name = "conv" + std::to_string(i);
    text += "\nlayer { name: \"" + name + "\" type: \"Convolution\" bottom: \"" + bottom + "\" top: \"" + name +
            "\" convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: \"msra\" } } }" +
            "\nlayer { name: \"relu" + std::to_string(i) + "\" type: \"ReLU\" bottom: \"" + name + "\" top: \"" + name +
            "\" }";
    bottom = name;
  }
  return text + R"(
layer { name: "ip" type: "InnerProduct" bottom: "conv5" top: "ip"
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
)";
}

class LmsProgram : public testing::Test {
 protected:
  void SetUp() override {
    write_file(folder_ / "net.prototxt", net_text());
    write_file(folder_ / "solver.prototxt",
               "net: 'net.prototxt'\nbase_lr: 0.01\nlr_policy: 'fixed'\nmomentum: 0.9\nrandom_seed: 1\nmax_iter: 4\n"
               "display: 2\ntest_iter: 1\ntest_interval: 2\nsnapshot_prefix: 'stack'\n");
  }
  Finished run(const std::vector<std::string>& args, const char* gpus = "1:64M") {
    setenv("ROBUSTA_SIM_GPUS", gpus, 1);
    Finished done = run_caffe_program(folder_.path(), args);
    unsetenv("ROBUSTA_SIM_GPUS");
    return done;
  }
  std::string trained() const { return read_file(folder_ / "stack_iter_4.caffemodel"); }

  /// Bytes for training that leave this share of what can be saved.
  std::string memory(double share) const {
    SimDevice device(size_t{1} << 30);
    NetOptions options = resident_options(device);
    options.plan_only = true;
    caffe::NetState state;
    const Net resident(insert_splits(filter_net(read_net(folder_ / "net.prototxt"), state)), options);
    size_t history = 0;
    for (const ParamPtr& param : resident.params()) history += align_up(param->desc.bytes());
    const size_t least = least_arena(resident), all = resident.plan().arena_bytes;
    constexpr size_t kTestNet = 4096;
    return std::to_string(fixed_memory(resident) + history + kTestNet + least +
                          static_cast<size_t>(share * static_cast<double>(all - least)));
  }

  TempDir folder_;
};

TEST_F(LmsProgram, TrainsTheSameInLessMemory) {
  ASSERT_EQ(run({"train", "-solver=solver.prototxt", "-deterministic", "-gpu=0"}).code, 0);
  const std::string expected = trained();
  const Finished done = run({"train", "-solver=solver.prototxt", "-deterministic", "-gpu=0", "-lms", "-gpu_memory",
                             memory(0.1), "-ddl", "-dump_iter 2", "-log_json", "log.json"});
  ASSERT_EQ(done.code, 0) << done.log;
  EXPECT_EQ(trained(), expected);
  EXPECT_TRUE(
      matches(done.log, R"(Large model support: \d+ values to the host and back, \d+ computed again: .* KiB out)"))
      << done.log;
  EXPECT_TRUE(matches(done.log, R"(Iteration 2, large model support of 2 iterations: [\d.]+ MB out, [\d.]+ MB in per )"
                                R"(iteration, exposed [-+.e\d]+ ms)"))
      << done.log;
  EXPECT_TRUE(matches(read_file(folder_ / "log.json"), R"("event": "lms".*"bytes_out": \d+)"));
}

TEST_F(LmsProgram, TakesIbmsForms) {
  for (const std::vector<std::string>& form : {std::vector<std::string>{"-lms"},
                                               {"-lms", "50"},
                                               {"-lms=0"},
                                               {"-lms", "auto"},
                                               {"-lms", "10000000000"},
                                               {"-lms", "20", "-lms_frac", "0.5"},
                                               {"-lms_frac=0.01"}}) {
    std::vector<std::string> args = form;
    args.insert(args.begin(), {"time", "-model=net.prototxt", "-iterations=1", "-gpu=0"});
    const Finished done = run(args);
    EXPECT_EQ(done.code, 0) << done.log;
    EXPECT_TRUE(matches(done.log, "Average wait for copies: ")) << done.log;
    const bool all_stay = form == std::vector<std::string>{"-lms"} || form.back() == "auto" ||
                          form.back() == "10000000000" || form.back() == "0.5";
    EXPECT_EQ(matches(done.log, "Large model support: all values stay"), all_stay) << form.back() << done.log;
  }
  const Finished off = run({"time", "-model=net.prototxt", "-iterations=1", "-gpu=0", "-lms", "-1"});
  EXPECT_EQ(off.code, 0) << off.log;
  EXPECT_FALSE(matches(off.log, "Large model support")) << off.log;
}

TEST_F(LmsProgram, SaysWhatToDoWhenMemoryIsShort) {
  const Finished done =
      run({"train", "-solver=solver.prototxt", "-deterministic", "-gpu=0", "-gpu_memory", memory(0.3)});
  EXPECT_EQ(done.code, 5) << done.log;
  EXPECT_TRUE(matches(done.log,
                      "out of memory: the net stack with a batch of 8 needs .*\\(-gpu_memory\\).*"
                      "the largest values at the peak are .*give -lms auto: it fits then"))
      << done.log;
  EXPECT_FALSE(matches(done.log, "Iteration 0")) << done.log;
  // More than there is in all: the fake GPU's own limit.
  const Finished small = run({"train", "-solver=solver.prototxt", "-deterministic", "-gpu=0"}, "1:1M");
  EXPECT_EQ(small.code, 5) << small.log;
  EXPECT_TRUE(matches(small.log, "out of memory: .*\\(free now\\)")) << small.log;
}

TEST_F(LmsProgram, PlansWithoutAGpu) {
  const Finished done =
      run({"plan", "-model=net.prototxt", "-gpu=0", "-lms=auto", "-gpu_memory=1600K", "-link_gbs=10"}, "0:1M");
  EXPECT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(matches(done.out, "No GPU here: planned for one with 1.6 MiB")) << done.out;
  EXPECT_TRUE(matches(done.out, R"(    offload \S+ \([\d.]+ KiB\) after step \d+ \(conv)")) << done.out;
  EXPECT_TRUE(
      matches(done.out, R"(    prefetch \S+ \([\d.]+ KiB\) before step \d+, for step \d+ \(conv.*, backward\))"))
      << done.out;
  EXPECT_TRUE(matches(done.out, "Large model support: ")) << done.out;
  EXPECT_TRUE(matches(done.out, R"(Largest batch that fits in \d+ MiB \(-gpu_memory\): \d+; with -lms auto: \d+)"))
      << done.out;
}

TEST_F(LmsProgram, ChangesNothingOnTheCpu) {
  const Finished done = run({"time", "-model=net.prototxt", "-iterations=1", "-lms"}, "");
  EXPECT_EQ(done.code, 0) << done.log;
  EXPECT_TRUE(matches(done.log, "-lms and -gpu_memory are for GPUs")) << done.log;
}

TEST_F(LmsProgram, RefusesWhatMakesNoSense) {
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"-lms=many"},
                                                {"-lms_frac=1.5"},
                                                {"-gpu_memory=big"},
                                                {"-lms", "-share_memory=false"}}) {
    std::vector<std::string> args = wrong;
    args.insert(args.begin(), {"time", "-model=net.prototxt", "-gpu=0"});
    const Finished done = run(args);
    EXPECT_EQ(done.code, 1) << done.log;
  }
}

}  // namespace
}  // namespace robusta::test
