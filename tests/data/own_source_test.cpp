// The worked example of CONTRIBUTING.md, "A source": a reader, a filler and a registration, and nothing else.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "layers/kit/prefetched_source.h"
#include "net/net.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/nets.h"

namespace robusta {
namespace {

/// Lines of a text file.
class RowReader : public RecordReader {
 public:
  explicit RowReader(const std::string& file) : file_(file) {
    std::ifstream in(file);
    for (std::string row; std::getline(in, row);) rows_.push_back(row);
    if (rows_.empty()) throw Error(ErrorKind::kData, file + " has no rows", "write a row of numbers per sample");
  }
  const std::string& source() const override { return file_; }
  int64_t size() const override { return static_cast<int64_t>(rows_.size()); }
  std::string_view record(int64_t index, std::string&) const override { return rows_[static_cast<size_t>(index)]; }
  std::string key(int64_t index) const override { return "row " + std::to_string(index + 1); }

 private:
  std::string file_;
  std::vector<std::string> rows_;
};

/// Numbers between blanks, the last of which is the label.
class RowFiller : public RecordFiller {
 public:
  std::vector<Shape> item_shapes(std::string_view record, int64_t) const override {
    return {{static_cast<int64_t>(numbers_in(record).size()) - 1}, {}};
  }
  void fill(std::string_view record, const Sample& sample, Batch& batch) const override {
    const std::vector<float> row = numbers_in(record);
    const int64_t width = batch.layout.tops()[0][1];
    if (static_cast<int64_t>(row.size()) != width + 1) throw Error(ErrorKind::kData, "it has another length", "pad it");
    std::copy_n(row.data(), width, batch.numbers(0) + sample.place * width);
    batch.numbers(1)[sample.place] = row.back();
  }
  int label_top() const override { return 1; }
  int label(std::string_view record, int64_t) const override { return static_cast<int>(numbers_in(record).back()); }

 private:
  static std::vector<float> numbers_in(std::string_view record) {
    std::istringstream in{std::string(record)};
    return {std::istream_iterator<float>(in), {}};
  }
};

class RowsLayer : public PrefetchedSource {
 public:
  explicit RowsLayer(const caffe::LayerParameter& param)
      : PrefetchedSource(param, {.source = param.data_param().source(),
                                 .field = "data_param.source",
                                 .batch = param.data_param().batch_size()}) {}
  Arity arity() const override { return {.min_bottoms = 0, .max_bottoms = 0, .min_tops = 2, .max_tops = 2}; }

 protected:
  RecordSource open_records(const std::string& source) const override {
    return {std::make_shared<RowReader>(source), std::make_unique<RowFiller>()};
  }
  AssumedItem assumed_item(const std::string&) const override { return {{1}, "the least that a row can be"}; }
};

ROBUSTA_REGISTER_LAYER("Rows", RowsLayer);

NetDef rows_net(const std::string& file) {
  return test::net_def("layer { name: 'd' type: 'Rows' top: 'x' top: 'l' data_param { source: '" + file +
                       "' batch_size: 2 } }");
}

TEST(OwnSourceTest, ReadsInOrderAndBeginsAgain) {
  test::TempDir dir;
  test::write_file(dir / "rows.txt", "1 2 0\n3 4 1\n5 6 2\n");
  Net net(rows_net(dir / "rows.txt"), {});
  std::vector<float> x, labels;
  for (uint64_t first = 0; first < 4; first += 2) {
    net.forward({.seed = 1, .first_sample = first, .next_sample = first + 2, .batch = 2});
    for (const float value : net.blobs().read("x")) x.push_back(value);
    for (const float value : net.blobs().read("l")) labels.push_back(value);
  }
  EXPECT_EQ(x, (std::vector<float>{1, 2, 3, 4, 5, 6, 1, 2}));
  EXPECT_EQ(labels, (std::vector<float>{0, 1, 2, 0}));
  EXPECT_EQ(net.graph().nodes[NodeId(0)].source->labelled()->label(2), 2);
  EXPECT_EQ(net.diagnostics().sample_keys({.seed = 1, .first_sample = 2, .next_sample = 4, .batch = 2}, 1),
            (std::vector<std::string>{"row 3 in " + (dir / "rows.txt")}));
}

TEST(OwnSourceTest, NamesTheRecordThatIsWrong) {
  test::TempDir dir;
  test::write_file(dir / "rows.txt", "1 2 0\n3 1\n");
  Net net(rows_net(dir / "rows.txt"), {});
  const Error error =
      test::error_of([&] { net.forward({.seed = 1, .first_sample = 0, .next_sample = 2, .batch = 2}); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_EQ(error.cause(), "record row 2 in " + (dir / "rows.txt") + ": it has another length");
}

TEST(OwnSourceTest, StandsInForAFileThatIsNotThere) {
  NetOptions options;
  options.data.synthesize_missing = true;
  EXPECT_EQ(Net(rows_net("/nowhere/rows.txt"), options).blobs().shape("x"), (Shape{2, 1}));
  EXPECT_EQ(test::error_of([] { Net(rows_net("/nowhere/rows.txt"), {}); }).field(), "data_param.source");
}

}  // namespace
}  // namespace robusta
