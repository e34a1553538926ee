// Layers from outside of the tree, registered by a program that is linked to the library.

#include <gtest/gtest.h>

#include <cmath>

#include "robusta/layer.h"
#include "robusta/net.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/places.h"

namespace robusta::test {
namespace {

/// y = a x^p with a learned a.
class Monomial : public Layer {
 public:
  explicit Monomial(const LayerSpec& spec)
      : exponent_(spec.integer("exponent", 1)), scaled_(spec.has("power_param.scale")) {
    if (exponent_ < 1) throw Error(ErrorKind::kConfig, "exponent must be at least 1").in_field("plugin_param");
  }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override { return bottoms; }
  std::vector<ParameterDecl> parameters() const override { return {{.shape = {1}, .constant = scaled_ ? 3.0f : 2.0f}}; }
  bool runs_on(const std::string& device, DType) const override { return device == "cpu"; }

  void forward(const KernelCall& call) override {
    call.bottoms[0].dtype == DType::kF64 ? run<double>(call) : run<float>(call);
  }
  void backward(const KernelCall& call) override {
    call.bottoms[0].dtype == DType::kF64 ? back<double>(call) : back<float>(call);
  }

 private:
  template <typename T>
  void run(const KernelCall& call) const {
    const T a = call.parameters[0].as<T>()[0];
    for (int64_t i = 0; i < call.tops[0].count(); ++i) {
      call.tops[0].as<T>()[i] = a * static_cast<T>(std::pow(call.bottoms[0].as<T>()[i], exponent_));
    }
  }
  template <typename T>
  void back(const KernelCall& call) const {
    const T a = call.parameters[0].as<T>()[0];
    for (int64_t i = 0; i < call.tops[0].count(); ++i) {
      const T x = call.bottoms[0].as<T>()[i], dy = call.top_gradients[0].as<T>()[i];
      if (call.bottom_gradients[0]) {
        call.bottom_gradients[0].as<T>()[i] =
            dy * a * static_cast<T>(exponent_) * static_cast<T>(std::pow(x, exponent_ - 1));
      }
      if (call.parameter_gradients[0]) {
        call.parameter_gradients[0].as<T>()[0] += dy * static_cast<T>(std::pow(x, exponent_));
      }
    }
  }

  int64_t exponent_;
  bool scaled_;
};

const bool registered = [] {
  register_layer("TestMonomial", [](const LayerSpec& spec) { return std::make_unique<Monomial>(spec); });
  return true;
}();

std::string net_with(const std::string& fields) {
  return R"(force_backward: true layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 3 } } }
layer { name: "m" type: "TestMonomial" bottom: "x" top: "y" )" +
         fields + R"( }
layer { name: "sum" type: "Power" bottom: "y" top: "z" loss_weight: 1 })";
}

Net monomial(const std::string& fields, DType dtype = DType::kF32) {
  NetOptions options;
  options.backward = options.keep_blobs = true;
  options.dtype = dtype;
  return Net::from_text(net_with(fields), options, "net");
}

TEST(PluginTest, ComputesForwardAndBackward) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Net net = monomial("plugin_param { key: 'exponent' value: '2' }", dtype);
    net.write("x", std::vector<float>{1, -2, 3});
    EXPECT_DOUBLE_EQ(net.forward(), 2 + 8 + 18);
    net.backward();
    EXPECT_EQ(net.read_gradient("x"), (std::vector<float>{4, -8, 12}));
    EXPECT_EQ(net.read_parameter_gradient("m", 0), std::vector<float>{14});
    net.forward();
    net.backward(true);
    EXPECT_EQ(net.read_parameter_gradient("m", 0), std::vector<float>{28});
  }
}

TEST(PluginTest, FieldsOfCaffesMessagesAreReadByPath) {
  EXPECT_EQ(monomial("power_param { scale: 1.5 }").read_parameter("m", 0), std::vector<float>{3});
  EXPECT_EQ(monomial("").read_parameter("m", 0), std::vector<float>{2});
}

TEST(PluginTest, FieldsThatAreWrongAreRefusedAtTheirLine) {
  const Error unknown = error_of([] { monomial("\nplugin_param { key: 'exponnt' value: '2' }"); });
  EXPECT_EQ(unknown.kind(), ErrorKind::kConfig);
  EXPECT_TRUE(contains(unknown.what(), "net:3"));
  EXPECT_TRUE(contains(unknown.what(), "did you mean \"exponent\""));
  const Error unreadable = error_of([] { monomial("plugin_param { key: 'exponent' value: 'two' }"); });
  EXPECT_TRUE(contains(unreadable.what(), "\"two\" is no whole number"));
  EXPECT_EQ(error_of([] { monomial("plugin_param { key: 'exponent' value: '0' }"); }).layer(), "m");
}

TEST(PluginTest, ATypeIsKnownOnce) {
  const auto factory = [](const LayerSpec& spec) { return std::make_unique<Monomial>(spec); };
  EXPECT_EQ(error_of([&] { register_layer("ReLU", factory); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { register_layer("TestMonomial", factory); }).kind(), ErrorKind::kUsage);
}

/// Of Power with power 1: y = scale x + shift, by a kernel that counts its runs.
class CountingPower : public Kernel {
 public:
  CountingPower(float scale, float shift, int& runs) : scale_(scale), shift_(shift), runs_(runs) {}
  Needs needs() const override { return {.backward_reads_bottoms = false, .in_place = true}; }
  void forward(const KernelCall& call) override {
    ++runs_;
    for (int64_t i = 0; i < call.tops[0].count(); ++i) {
      call.tops[0].as<float>()[i] = scale_ * call.bottoms[0].as<float>()[i] + shift_;
    }
  }

 private:
  float scale_, shift_;
  int& runs_;
};

TEST(PluginTest, AKernelOfOnesOwnIsAskedByPriority) {
  static int runs = 0;
  register_kernel("Power", "counting", 90, [](const KernelRequest& request, std::string& why_not) {
    const LayerSpec& spec = request.spec;
    const bool fits = spec.number("power_param.power", 1) == 1 && spec.name() == "mine" && !request.backward;
    if (!fits) why_not = "not mine";
    return fits ? std::make_unique<CountingPower>(spec.number("power_param.scale", 1), 0.5f, runs) : nullptr;
  });
  Net net = Net::from_text(R"(layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 } } }
layer { name: "mine" type: "Power" bottom: "x" top: "y" power_param { scale: 2 } }
layer { name: "theirs" type: "Power" bottom: "y" top: "z" power_param { scale: 3 } })");
  net.write("x", std::vector<float>{1, 2});
  net.forward();
  EXPECT_EQ(net.read("z"), (std::vector<float>{7.5f, 13.5f}));
  EXPECT_EQ(runs, 1);
}

TEST(PluginTest, ALayerThatDoesNotRunInATypeSaysSo) {
  register_layer("TestFloatOnly", [](const LayerSpec& spec) -> std::unique_ptr<Layer> {
    struct FloatOnly : Monomial {
      using Monomial::Monomial;
      bool runs_on(const std::string& device, DType dtype) const override { return Layer::runs_on(device, dtype); }
    };
    return std::make_unique<FloatOnly>(spec);
  });
  NetOptions options;
  options.dtype = DType::kF64;
  const Error error = error_of([&] {
    Net::from_text(R"(layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 3 } } }
layer { name: "m" type: "TestFloatOnly" bottom: "x" top: "y" })",
                   options);
  });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_TRUE(contains(error.what(), "does not run on cpu in f64"));
}

TEST(PluginTest, FilesThatAreNoPluginAreRefused) {
  const TempDir folder;
  write_file(folder / "text.so", "not a library");
  EXPECT_EQ(error_of([&] { load_plugin(folder / "none.so"); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(error_of([&] { load_plugin(folder / "text.so"); }).kind(), ErrorKind::kUnsupported);
  const std::string other = tools_dir() + "/../tests/libfake_nccl.so";
  EXPECT_TRUE(contains(error_of([&] { load_plugin(other); }).what(), "is no plugin"));
}

}  // namespace
}  // namespace robusta::test
