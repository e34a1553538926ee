// Nets planned without their data: what stands for these takes the shapes that the net wants.

#include "net/graph/guesses.h"

#include <gtest/gtest.h>

#include "net/net.h"
#include "support/errors.h"
#include "support/log_lines.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

NetOptions without_data() {
  NetOptions options;
  options.plan_only = true;
  options.data.synthesize_missing = true;
  return options;
}

/// The shape of a blob of the net when its data are absent.
Shape shape_of(const std::string& text, const std::string& blob) {
  const Net net(net_def(text), without_data());
  return net.blobs().shape(blob);
}

std::string data(const std::string& top, const std::string& source, const std::string& more = "") {
  return "layer { name: '" + top + "' type: 'Data' top: '" + top + "' data_param { source: '/nowhere/" + source +
         "' batch_size: 2 } " + more + "}\n";
}

std::string hdf5(const std::string& tops, int batch) {
  return "layer { name: 'rows' type: 'HDF5Data' " + tops +
         " hdf5_data_param { source: '/nowhere/list' batch_size: " + std::to_string(batch) + " } }\n";
}

TEST(Guesses, PairsHaveAChannelForEachOfTheirImages) {
  const auto pairs = [](const std::string& slice, const std::string& tops) {
    return data("pair", "mnist") + "layer { name: 's' type: 'Slice' bottom: 'pair' " + tops + " slice_param { " +
           slice + " } }\n";
  };
  EXPECT_EQ(shape_of(pairs("slice_dim: 1 slice_point: 1", "top: 'a' top: 'b'"), "pair"), (Shape{2, 2, 28, 28}));
  EXPECT_EQ(shape_of(pairs("slice_point: 3", "top: 'a' top: 'b'"), "b"), (Shape{2, 3, 28, 28}));
  EXPECT_EQ(shape_of(pairs("axis: 1", "top: 'a' top: 'b' top: 'c'"), "pair"), (Shape{2, 3, 28, 28}));
  EXPECT_EQ(shape_of(pairs("slice_point: 3 slice_point: 6", "top: 'a' top: 'b' top: 'c'"), "pair"),
            (Shape{2, 9, 28, 28}));
  // Of what is cut otherwise than along the channels, nothing is wanted.
  EXPECT_EQ(shape_of(pairs("axis: 2 slice_point: 4", "top: 'a' top: 'b'"), "pair"), (Shape{2, 1, 28, 28}));
}

constexpr char kScores[] = R"(
layer { name: 'c' type: 'Convolution' bottom: 'image' top: 'c'
        convolution_param { num_output: 5 kernel_size: 4 stride: 4 } }
)";

TEST(Guesses, LabelsHaveOneNumberForEachPositionOfTheScores) {
  const std::string loss = "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'c' bottom: 'map' top: 'l' }\n";
  EXPECT_EQ(shape_of(data("image", "voc") + data("map", "labels") + kScores + loss, "map"), (Shape{2, 1, 56, 56}));
  // Through layers that keep the channels of labels, and with the copies for an Accuracy.
  const std::string shrunk =
      "layer { name: 'i' type: 'Interp' bottom: 'map' top: 'small' interp_param { height: 56 width: 56 } }\n"
      "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'c' bottom: 'small' top: 'l' }\n"
      "layer { name: 'a' type: 'Accuracy' bottom: 'c' bottom: 'small' top: 'a' }\n";
  EXPECT_EQ(shape_of(data("image", "voc") + data("map", "labels") + kScores + shrunk, "map"), (Shape{2, 1, 224, 224}));
}

TEST(Guesses, TargetsAreAsWhatTheyAreComparedWith) {
  const auto target_of = [](const std::string& loss) {
    return shape_of(hdf5("top: 'image' top: 'target'", 2) + kScores + loss, "target");
  };
  EXPECT_EQ(target_of("layer { name: 'l' type: 'EuclideanLoss' bottom: 'c' bottom: 'target' }"), (Shape{2, 5, 56, 56}));
  EXPECT_EQ(target_of("layer { name: 'l' type: 'SigmoidCrossEntropyLoss' bottom: 'c' bottom: 'target' }"),
            (Shape{2, 5, 56, 56}));
  EXPECT_EQ(target_of("layer { name: 'e' type: 'Eltwise' bottom: 'c' bottom: 'target' top: 'e' }"),
            (Shape{2, 5, 56, 56}));
  EXPECT_EQ(target_of("layer { name: 'j' type: 'Concat' bottom: 'c' bottom: 'target' top: 'j' }"),
            (Shape{2, 1, 56, 56}));
  EXPECT_EQ(target_of("layer { name: 'p' type: 'ROIPooling' bottom: 'c' bottom: 'target' top: 'p' roi_pooling_param { "
                      "pooled_h: 2 pooled_w: 2 } }"),
            (Shape{2, 5}));
  EXPECT_EQ(target_of("layer { name: 'h' type: 'HingeLoss' bottom: 'c' bottom: 'target' }"), (Shape{2}));
}

TEST(Guesses, SequencesHaveStepsAndStreams) {
  const std::string net = hdf5("top: 'cont' top: 'words' top: 'next'", 6) + R"(
layer { name: 'image' type: 'Input' top: 'image' input_param { shape { dim: 3 dim: 4 } } }
layer { name: 'e' type: 'Embed' bottom: 'words' top: 'e' embed_param { input_dim: 9 num_output: 7 } }
layer { name: 'r' type: 'LSTM' bottom: 'e' bottom: 'cont' bottom: 'image' top: 'r' recurrent_param { num_output: 5 } }
layer { name: 'p' type: 'InnerProduct' bottom: 'r' top: 'p' inner_product_param { num_output: 9 axis: 2 } }
layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'p' bottom: 'next' softmax_param { axis: 2 } }
)";
  for (const char* blob : {"cont", "words", "next"}) EXPECT_EQ(shape_of(net, blob), (Shape{6, 3})) << blob;
}

TEST(Guesses, RowsHaveAsManyNumbersAsTheyAreLaidOutIn) {
  const auto rows = [](const std::string& dims) {
    return shape_of(hdf5("top: 'x'", 4) +
                        "layer { name: 'r' type: 'Reshape' bottom: 'x' top: 'y' reshape_param { shape { " + dims +
                        " } } }",
                    "x");
  };
  EXPECT_EQ(rows("dim: 0 dim: 6 dim: 1"), (Shape{4, 6}));
  EXPECT_EQ(rows("dim: 2 dim: 2 dim: 5"), (Shape{4, 5}));
  EXPECT_EQ(rows("dim: -1 dim: 11"), (Shape{4, 11}));
  EXPECT_EQ(rows("dim: 0 dim: -1"), (Shape{4, 3, 224, 224}));
}

TEST(Guesses, FurtherImagesOfASourceAreLikeItsFirst) {
  const std::string streams = R"(
layer { name: 'p' type: 'Power' bottom: 'depth' top: 'depth' power_param { scale: 2 } }
layer { name: 'a' type: 'Convolution' bottom: 'color' top: 'a' convolution_param { num_output: 3 kernel_size: 4 stride: 4 } }
layer { name: 'b' type: 'Convolution' bottom: 'depth' top: 'b' convolution_param { num_output: 3 kernel_size: 4 stride: 4 } }
layer { name: 'm' type: 'Pooling' bottom: 'mask' top: 'm' pooling_param { kernel_size: 4 stride: 4 } }
layer { name: 'j' type: 'Concat' bottom: 'a' bottom: 'b' bottom: 'm' top: 'j' }
layer { name: 'i' type: 'InnerProduct' bottom: 'j' top: 'i' inner_product_param { num_output: 4 } }
layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'i' bottom: 'label' top: 'l' }
)";
  const std::string text = hdf5("top: 'color' top: 'depth' top: 'mask' top: 'label'", 2) + streams;
  for (const char* blob : {"color", "depth", "mask"}) EXPECT_EQ(shape_of(text, blob), (Shape{2, 3, 224, 224})) << blob;
  EXPECT_EQ(shape_of(text, "label"), (Shape{2}));
  // In another size, where that of the first one does not fit.
  const std::string fixed =
      "layer { name: 't' type: 'Interp' bottom: 'a' top: 't' interp_param { height: 12 width: 12 } }\n"
      "layer { name: 's' type: 'Eltwise' bottom: 'a' bottom: 't' top: 's' }\n";
  for (const char* blob : {"color", "depth"}) EXPECT_EQ(shape_of(text + fixed, blob), (Shape{2, 3, 48, 48})) << blob;
  // The label of a record stays one, whatever reads it.
  EXPECT_THROW(shape_of("layer { name: 'd' type: 'Data' top: 'x' top: 'label' data_param { source: '/nowhere/a' "
                        "batch_size: 2 } }\nlayer { name: 'b' type: 'Pooling' bottom: 'label' top: 'b' pooling_param { "
                        "kernel_size: 4 } }",
                        "label"),
               Error);
}

TEST(Guesses, LinesOfTextHaveTheColumnsThatAreLaidOut) {
  const std::string text = hdf5("top: 'image' top: 'word'", 2) + R"(
layer { name: 'c' type: 'Convolution' bottom: 'image' top: 'c'
        convolution_param { num_output: 5 kernel_size: 3 stride: 2 pad: 1 } }
layer { name: 'p' type: 'Pooling' bottom: 'c' top: 'p' pooling_param { kernel_size: 4 stride: 4 } }
layer { name: 'd' type: 'Convolution' bottom: 'p' top: 'd' convolution_param { num_output: 6 kernel_size: 4 } }
layer { name: 'r' type: 'Reshape' bottom: 'd' top: 'r' reshape_param { shape { dim: 2 dim: 6 dim: 17 } } }
)";
  EXPECT_EQ(shape_of(text, "image"), (Shape{2, 3, 32, 160}));
}

TEST(Guesses, BoxesAreRows) {
  const std::string text = hdf5("top: 'image' top: 'boxes'", 2) + R"(
layer { name: 'c' type: 'Convolution' bottom: 'image' top: 'c'
        convolution_param { num_output: 7 kernel_size: 32 stride: 32 } }
layer { name: 'l' type: 'Yolov3' bottom: 'c' bottom: 'boxes' top: 'l'
        yolov3_param { num_class: 2 num: 1 anchors_scale: 32 biases: 10 biases: 20 mask: 0 } }
)";
  EXPECT_EQ(shape_of(text, "boxes"), (Shape{2, 5}));
}

// 28 x 28 and other sizes do not fit: the scores are 12 x 12 whatever the image is.
constexpr char kFixedSize[] = R"(
layer { name: 'c' type: 'Convolution' bottom: 'image' top: 'c' convolution_param { num_output: 5 kernel_size: 4 stride: 4 } }
layer { name: 'i' type: 'Interp' bottom: 'c' top: 'i' interp_param { height: 12 width: 12 } }
layer { name: 's' type: 'Eltwise' bottom: 'c' bottom: 'i' top: 's' }
layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 's' bottom: 'map' top: 'l' }
)";

TEST(Guesses, ImagesTakeASizeThatFits) {
  const std::string text = data("image", "voc") + data("map", "labels") + kFixedSize;
  const LogLines lines;
  EXPECT_EQ(shape_of(text, "image"), (Shape{2, 3, 48, 48}));
  EXPECT_EQ(shape_of(text, "map"), (Shape{2, 1, 12, 12}));
  EXPECT_NE(lines.text().find("3x48x48"), std::string::npos) << lines.text();
  EXPECT_NE(lines.text().find("1x12x12 takes its place (as layer \"l\" wants it)"), std::string::npos) << lines.text();
}

TEST(Guesses, WhatThePrototxtSaysStays) {
  const std::string crop = "transform_param { crop_size: 32 mean_value: 1 mean_value: 2 mean_value: 3 } ";
  const Error error =
      error_of([&] { shape_of(data("image", "voc", crop) + data("map", "labels") + kFixedSize, "map"); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_EQ(error.layer(), "s");
  EXPECT_NE(std::string(error.what())
                .find("layer \"image\" has no data: /nowhere/voc does not exist, and synthetic input "
                      "of 3x32x32 takes its place (the size of the crop)"),
            std::string::npos)
      << error.what();
}

TEST(Guesses, TheLabelOfARecordIsOneNumber) {
  const std::string text =
      "layer { name: 'd' type: 'Data' top: 'image' top: 'map' data_param { source: '/nowhere/voc' batch_size: 2 } }\n";
  const Error error = error_of([&] {
    shape_of(text + kScores + "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'c' bottom: 'map' }", "map");
  });
  EXPECT_EQ(error.layer(), "l");
}

TEST(Guesses, ASourceMayBeLeftOut) {
  const std::string text =
      "layer { name: 'd' type: 'Data' top: 'd' top: 'label' data_param { batch_size: 4 } transform_param { crop_size: "
      "20 "
      "} }";
  EXPECT_EQ(shape_of(text, "d"), (Shape{4, 3, 20, 20}));
  NetOptions with_data = without_data();
  with_data.data.synthesize_missing = false;
  const Error error = error_of([&] { const Net net(net_def(text), with_data); });
  EXPECT_EQ(error.kind(), ErrorKind::kConfig);
  EXPECT_EQ(error.field(), "data_param.source");
}

TEST(Guesses, WhatDoesNotFitAnyhowIsReportedAsItIs) {
  const std::string text = data("image", "voc") +
                           "layer { name: 'r' type: 'Reshape' bottom: 'image' top: 'y' "
                           "reshape_param { axis: 9 shape { dim: 7 } } }";
  const Error error = error_of([&] { shape_of(text, "y"); });
  EXPECT_EQ(error.layer(), "r");
  EXPECT_EQ(error.field(), "reshape_param.axis");
  EXPECT_NE(std::string(error.what()).find("3x224x224"), std::string::npos) << error.what();
}

}  // namespace
}  // namespace robusta::test
