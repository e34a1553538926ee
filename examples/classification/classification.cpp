// What is in a picture? The five most likely labels, as Caffe's examples/cpp_classification prints them:
//
//   classification deploy.prototxt network.caffemodel mean.binaryproto labels.txt img.jpg
//
// The net has one input, of one picture or more, and one output, a number for each line of labels.txt. Of the mean image
// the mean of each channel is subtracted, whatever the size of the net's input.

#include <robusta/image.h>
#include <robusta/net.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace {

using robusta::Error;
using robusta::ErrorKind;

std::vector<std::string> read_labels(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::kData, "cannot read the labels " + path, "check the path");
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) labels.push_back(line);
  return labels;
}

class Classifier {
 public:
  Classifier(const std::string& prototxt, const std::string& weights, const std::string& mean,
             const std::string& labels)
      : net_(robusta::Net::from_file(prototxt)), labels_(read_labels(labels)) {
    net_.load_weights(weights);
    if (net_.inputs().size() != 1 || net_.outputs().size() != 1)
      throw Error(ErrorKind::kConfig, "the net has not one input and one output", "give a deploy.prototxt");
    input_ = net_.inputs()[0];
    output_ = net_.outputs()[0];
    robusta::Shape shape = net_.shape(input_);
    if (shape.size() != 4) throw Error(ErrorKind::kConfig, "the net's input is no picture", "give 4 extents");
    shape[0] = 1;
    net_.reshape(input_, shape);
    channels_ = static_cast<int>(shape[1]), height_ = shape[2], width_ = shape[3];
    means_ = robusta::channel_means(robusta::load_mean(mean));
    if (means_.size() != static_cast<size_t>(channels_))
      throw Error(ErrorKind::kData, "the mean image has other channels than the net's input", "take that of the net").at(mean);
  }

  /// A number for each label.
  std::vector<float> scores(const std::string& path) {
    robusta::Image picture = robusta::load_image(path, channels_, height_, width_);
    const size_t plane = static_cast<size_t>(height_ * width_);
    for (size_t i = 0; i < picture.numbers.size(); ++i) picture.numbers[i] -= means_[i / plane];
    net_.write(input_, picture.numbers);
    net_.forward();
    std::vector<float> scores = net_.read(output_);
    if (scores.size() != labels_.size()) {
      throw Error(ErrorKind::kUsage, "there are " + std::to_string(labels_.size()) + " labels for " +
                                         std::to_string(scores.size()) + " outputs", "give the labels of this net");
    }
    return scores;
  }

  void print_best(const std::string& path) {
    const std::vector<float> score = scores(path);
    std::vector<size_t> order(score.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const size_t best = std::min<size_t>(5, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(best), order.end(),
                      [&](size_t a, size_t b) { return score[a] > score[b]; });
    std::printf("---------- Prediction for %s ----------\n", path.c_str());
    for (size_t i = 0; i < best; ++i)
      std::printf("%.4f - \"%s\"\n", static_cast<double>(score[order[i]]), labels_[order[i]].c_str());
  }

 private:
  robusta::Net net_;
  std::vector<std::string> labels_;
  std::string input_, output_;
  int channels_ = 0;
  int64_t height_ = 0, width_ = 0;
  std::vector<float> means_;  // per channel
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "Usage: %s deploy.prototxt network.caffemodel mean.binaryproto labels.txt img.jpg\n", argv[0]);
    return 1;
  }
  try {
    Classifier(argv[1], argv[2], argv[3], argv[4]).print_best(argv[5]);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "classification: %s\n", error.what());
    return error.exit_code();
  }
}
