// AnnotatedData in a net: how many boxes there are changes from pass to pass, on the host and on a GPU.

#include <gtest/gtest.h>

#include "data/sample_db.h"
#include "device/sim/sim_device.h"
#include "net/net.h"
#include "support/files.h"
#include "support/nets.h"

namespace robusta::test {
namespace {

/// Record i has i % 3 boxes of label i.
caffe::AnnotatedDatum record_with_boxes(int i) {
  caffe::AnnotatedDatum record;
  *record.mutable_datum() = encoded_datum({3, 10, 12}, 0, static_cast<uint64_t>(i), ImageFormat::kPng);
  record.set_type(caffe::AnnotatedDatum::BBOX);
  for (int k = 0; k < i % 3; ++k) {
    caffe::AnnotationGroup& group = *record.add_annotation_group();
    group.set_group_label(i);
    caffe::NormalizedBBox& box = *group.add_annotation()->mutable_bbox();
    box.set_xmax(0.5f);
    box.set_ymax(0.25f);
  }
  return record;
}

std::string annotated_net(const std::string& source) {
  return "layer { name: 'data' type: 'AnnotatedData' top: 'data' top: 'boxes' data_param { backend: LMDB batch_size: 2 "
         "source: '" +
         source +
         "' } transform_param { mean_value: 10 scale: 0.5 } } "
         "layer { name: 'half' type: 'Power' bottom: 'data' top: 'half' power_param { scale: 0.5 } } "
         "layer { name: 'more' type: 'Power' bottom: 'boxes' top: 'more' power_param { shift: 1 } }";
}

TEST(AnnotatedDataInNet, BoxesFollowEachPass) {
  const TempDir dir;
  write_database(dir / "db", 6, record_with_boxes);
  SimDevice gpu(size_t{1} << 20, 0, "emulated");
  for (Device* device : {&cpu_device(), static_cast<Device*>(&gpu)}) {
    for (const bool keep : {false, true}) {
      NetOptions options;
      options.device = device;
      options.backward = false;
      options.keep_blobs = keep;
      Net net(net_def(annotated_net(dir / "db")), options);
      // Pairs of records with 0 + 1, 2 + 0, 1 + 2 boxes.
      const std::vector<std::vector<int>> items{{1}, {0, 0}, {0, 1, 1}}, labels{{1}, {2, 2}, {4, 5, 5}};
      for (uint64_t k = 0; k < 5; ++k) {
        net.forward({.seed = 1, .first_sample = 2 * k, .next_sample = 2 * k + 2, .batch = 2});
        const size_t pair = k % 3;
        std::vector<float> want;
        for (size_t i = 0; i < items[pair].size(); ++i) {
          const auto item = static_cast<float>(items[pair][i]), label = static_cast<float>(labels[pair][i]);
          want.insert(want.end(), {item + 1, label + 1, 1, 1, 1, 1.5f, 1.25f, 1});
        }
        EXPECT_EQ(net.blobs().shape("more"), (Shape{1, 1, static_cast<int64_t>(items[pair].size()), 8})) << k;
        EXPECT_EQ(net.blobs().read("more"), want) << device->name() << " pass " << k;
        const Image image = random_image({3, 10, 12}, 2 * pair);
        EXPECT_EQ(net.blobs().read("half")[7], (static_cast<float>(image.planes[7]) - 10) * 0.25f);
      }
    }
  }
}

}  // namespace
}  // namespace robusta::test
