// A program that trains a net inside itself, on data that it makes, and then classifies with it.
//
// The task: which half of eight numbers has the larger sum? The training net has Input layers, which the program fills
// before every iteration; a second net, without labels and loss, answers questions.

#include <robusta/log.h>
#include <robusta/net.h>
#include <robusta/solver.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int kBatch = 32, kNumbers = 8;

const std::string kLayers = R"(
layer { name: "hidden" type: "InnerProduct" bottom: "numbers" top: "hidden"
  inner_product_param { num_output: 16 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "hidden" top: "hidden" }
layer { name: "half" type: "InnerProduct" bottom: "hidden" top: "half"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
)";

const std::string kSolver = R"(
base_lr: 0.1 momentum: 0.9 lr_policy: "fixed" max_iter: 300 random_seed: 1 snapshot_after_train: false
net_param {
  layer { name: "input" type: "Input" top: "numbers" top: "label"
    input_param { shape { dim: 32 dim: 8 } shape { dim: 32 } } }
)" + kLayers + R"(
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "half" bottom: "label" top: "loss" }
})";

const std::string kDeploy = R"(
layer { name: "input" type: "Input" top: "numbers" input_param { shape { dim: 1 dim: 8 } } }
)" + kLayers + R"(
layer { name: "prob" type: "Softmax" bottom: "half" top: "prob" })";

struct Batch {
  std::vector<float> numbers, labels;
};

Batch draw(std::mt19937& random, int samples) {
  std::uniform_real_distribution<float> number(0, 1);
  Batch batch;
  for (int sample = 0; sample < samples; ++sample) {
    float lead = 0;  // of the first half
    for (int i = 0; i < kNumbers; ++i) {
      batch.numbers.push_back(number(random));
      lead += i < kNumbers / 2 ? batch.numbers.back() : -batch.numbers.back();
    }
    batch.labels.push_back(lead > 0 ? 0.0f : 1.0f);
  }
  return batch;
}

void train(const std::string& weights) {
  robusta::Solver solver = robusta::Solver::from_text(kSolver);
  solver.on_iteration([](const robusta::IterationReport& now) {
    if (now.iteration % 100 == 0) std::printf("iteration %d: loss %.3f\n", now.iteration, now.loss);
  });
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const Batch batch = draw(random, kBatch);
    solver.net().write("numbers", batch.numbers);
    solver.net().write("label", batch.labels);
    solver.step(1);
  }
  solver.net().save_weights(weights);
}

double accuracy(const std::string& weights, int questions) {
  robusta::Net net = robusta::Net::from_text(kDeploy);
  net.load_weights(weights);
  std::mt19937 random(2);
  int right = 0;
  for (int i = 0; i < questions; ++i) {
    const Batch question = draw(random, 1);
    net.write("numbers", question.numbers);
    net.forward();
    const std::vector<float> prob = net.read("prob");
    right += (prob[1] > prob[0]) == (question.labels[0] == 1.0f);
  }
  return static_cast<double>(right) / questions;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string weights = argc > 1 ? argv[1] : "embed.caffemodel";
  // Warnings alone; without a sink the library says nothing.
  robusta::set_log_sink([](const robusta::LogLine& line) {
    if (line.severity != robusta::Severity::kInfo) {
      std::fprintf(stderr, "%.*s\n", static_cast<int>(line.text.size()), line.text.data());
    }
  });
  try {
    train(weights);
    const double right = accuracy(weights, 1000);
    std::printf("accuracy %.3f\n", right);
    return right > 0.95 ? 0 : 1;
  } catch (const robusta::Error& error) {
    std::fprintf(stderr, "embed: %s\n", error.what());
    return error.exit_code();
  }
}
