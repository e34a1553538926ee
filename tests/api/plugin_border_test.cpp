// What a plugin's code does wrong is an Error that names the layer and its line.

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "robusta/layer.h"
#include "robusta/net.h"
#include "support/errors.h"

namespace robusta::test {
namespace {

/// Does wrong what its field "wrong" names.
class Faulty : public Layer {
 public:
  explicit Faulty(const LayerSpec& spec) : wrong_(spec.text("wrong")), sourceless_(spec.bottoms().empty()) {
    fail_if("make");
  }
  Arity arity() const override {
    fail_if("arity");
    return {.min_bottoms = 0, .max_bottoms = 1};
  }
  std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) override {
    fail_if("shapes");
    return sourceless_ ? std::vector<Shape>{{3}} : bottoms;
  }
  std::vector<ParameterDecl> parameters() const override {
    fail_if("parameters");
    if (wrong_ == "negative") return {{.shape = {2, -1}}};
    if (wrong_ == "huge") return {{.shape = {int64_t{1} << 40, 1 << 20}}};
    return {};
  }
  Needs needs() const override {
    fail_if("needs");
    if (wrong_ == "scratch") return {.scratch_bytes = std::numeric_limits<size_t>::max() - 3};
    if (wrong_ == "saved") return {.saved_bytes = std::numeric_limits<size_t>::max() - 3};
    return {.in_place = true};
  }
  void forward(const KernelCall&) override {
    fail_if("forward");
    if (wrong_ == "number") throw 5;
  }

 private:
  void fail_if(const std::string& place) const {
    if (wrong_ == place) throw std::runtime_error("cannot " + place);
  }
  std::string wrong_;
  bool sourceless_;
};

const bool registered = [] {
  register_layer("TestFaulty", [](const LayerSpec& spec) { return std::make_unique<Faulty>(spec); });
  register_layer("TestNothing", [](const LayerSpec&) { return std::unique_ptr<Layer>(); });
  return true;
}();

void run(const std::string& type, const std::string& wrong, bool bottom = true) {
  Net net = Net::from_text(
      "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 3 } } }\n"
      "layer { name: 'mine' type: '" +
          type + "' top: 'y' " + (bottom ? "bottom: 'x' " : "") +
          (wrong.empty() ? "" : "plugin_param { key: 'wrong' value: '" + wrong + "' }") + " }",
      {}, "net");
  net.forward();
}

void expect_named(const Error& error) {
  EXPECT_EQ(error.layer(), "mine") << error.what();
  EXPECT_TRUE(contains(error.location(), "net:2")) << error.what();
}

TEST(PluginBorderTest, ExceptionsOfAnyTypeNameTheLayer) {
  EXPECT_NO_THROW(run("TestFaulty", ""));
  for (const std::string place : {"make", "arity", "shapes", "parameters", "needs", "forward"}) {
    const Error error = error_of([&] { run("TestFaulty", place); });
    expect_named(error);
    EXPECT_TRUE(contains(error.cause(), "cannot " + place));
    EXPECT_TRUE(contains(error.what(), "plugin"));
  }
  expect_named(error_of([] { run("TestFaulty", "number"); }));
  expect_named(error_of([] { run("TestNothing", ""); }));
}

TEST(PluginBorderTest, SizesThatCannotBeAreRefused) {
  for (const std::string what : {"negative", "huge", "scratch", "saved"}) {
    expect_named(error_of([&] { run("TestFaulty", what); }));
  }
}

TEST(PluginBorderTest, NothingIsInPlaceWithoutABottom) {
  expect_named(error_of([] { run("TestFaulty", "", false); }));
}

}  // namespace
}  // namespace robusta::test
