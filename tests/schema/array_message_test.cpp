// Messages written array by array have the bytes that protobuf gives the whole.
#include "schema/array_message.h"

#include <gtest/gtest.h>

#include "caffe.pb.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta::test::array_message_test {
namespace {

constexpr int kHistory = caffe::SolverState::kHistoryFieldNumber;

std::vector<float> numbers(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(0.5f * static_cast<float>(i) - 3);
  return values;
}

void add(const std::vector<int64_t>& shape, int64_t count, bool diff, caffe::SolverState& whole, ArrayMessage& parts) {
  caffe::BlobProto& blob = *whole.add_history();
  blob.mutable_shape()->mutable_dim()->Add(shape.begin(), shape.end());
  const std::vector<float> values = numbers(count);
  blob.mutable_data()->Add(values.begin(), values.end());
  if (diff) blob.mutable_diff()->Add(values.begin(), values.end());
  const auto read = [count] { return numbers(count); };
  parts.add_blob(kHistory, {.shape = shape, .data = read, .diff = diff ? read : std::function<std::vector<float>()>()});
}

caffe::SolverState state() {
  caffe::SolverState state;
  state.set_iter(7);
  state.set_learned_net("a.caffemodel");
  state.set_current_step(3);
  state.mutable_robusta()->set_samples_seen(99);
  state.GetReflection()->MutableUnknownFields(&state)->AddVarint(900'000, 12);
  return state;
}

TEST(ArrayMessage, HasTheBytesOfTheWholeMessage) {
  const TempDir folder;
  caffe::SolverState whole = state();
  ArrayMessage parts;
  parts.add_below(state(), kHistory);
  add({20, 1, 5, 5}, 500, false, whole, parts);
  add({3}, 3, true, whole, parts);
  add({}, 1, false, whole, parts);
  add({0, 4}, 0, true, whole, parts);
  add({129, 1000}, 129'000, false, whole, parts);
  parts.add_above(state(), kHistory);
  parts.write(folder / "state");
  EXPECT_EQ(read_file(folder / "state"), whole.SerializeAsString());
  EXPECT_EQ(parts.bytes(), whole.ByteSizeLong());
}

TEST(ArrayMessage, MessagesOfArraysNest) {
  const TempDir folder;
  caffe::SolverState inner = state(), whole;
  ArrayMessage parts, of_inner;
  of_inner.add_below(inner, kHistory);
  add({2, 3}, 6, false, inner, of_inner);
  of_inner.add_above(inner, kHistory);
  parts.add_message(5, std::move(of_inner));
  parts.write(folder / "nested");
  const std::string bytes = inner.SerializeAsString();
  EXPECT_EQ(read_file(folder / "nested"), std::string{5 << 3 | 2} + static_cast<char>(bytes.size()) + bytes);
}

/// Nothing is read, nor written, where protobuf's readers could not read it.
TEST(ArrayMessage, TwoGibibytesAreRefused) {
  const TempDir folder;
  ArrayMessage parts;
  for (int i = 0; i < 3; ++i) {
    parts.add_blob(kHistory, {.shape = {200, 1 << 20},
                              .data = []() -> std::vector<float> { throw std::logic_error("read"); },
                              .diff = nullptr});
  }
  const Error error = error_of([&] { parts.write(folder / "large"); });
  EXPECT_EQ(error.kind(), ErrorKind::kOutput);
  EXPECT_TRUE(contains(error.what(), "protobuf files end at 2 GiB")) << error.what();
}

}  // namespace
}  // namespace robusta::test::array_message_test
