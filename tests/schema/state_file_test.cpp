#include "schema/state_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "schema/blob_proto.h"
#include "schema/mean_file.h"
#include "schema/weights_file.h"
#include "support/errors.h"
#include "support/files.h"

namespace robusta {
namespace {

using test::contains;
using test::error_of;

caffe::SolverState sample_state() {
  caffe::SolverState state;
  state.set_iter(0);
  state.set_learned_net("x_iter_0.caffemodel");
  const float values[] = {1, 2};
  blob_to_proto({1, 2}, values, state.add_history());
  state.set_current_step(3);
  state.mutable_robusta()->set_samples_seen(1 << 20);
  return state;
}

TEST(StateFile, ComesBackAsWritten) {
  const test::TempDir dir;
  write_state(dir / "s", sample_state());
  EXPECT_EQ(read_state(dir / "s").SerializeAsString(), sample_state().SerializeAsString());
}

TEST(StateFile, OtherReadersSkipOurFields) {
  // Without field 700000 the message is Caffe's own: numbers 1 to 4 only.
  caffe::SolverState state = sample_state();
  const int with = static_cast<int>(state.ByteSizeLong());
  state.clear_robusta();
  EXPECT_LT(static_cast<int>(state.ByteSizeLong()), with);
  const auto* field = caffe::SolverState::descriptor()->FindFieldByName("robusta");
  EXPECT_EQ(field->number(), 700000);
}

TEST(StateFile, NumbersBelowZeroAreDamage) {
  const test::TempDir dir;
  const auto refused = [&](const auto& change) {
    caffe::SolverState state = sample_state();
    change(state);
    write_state(dir / "s", state);
    const Error error = error_of([&] { read_state(dir / "s"); });
    EXPECT_EQ(error.kind(), ErrorKind::kModel);
    return std::string(error.what());
  };
  EXPECT_TRUE(contains(refused([](auto& state) { state.set_iter(-5); }), "iter is -5"));
  EXPECT_TRUE(contains(refused([](auto& state) { state.set_current_step(-1); }), "current_step is -1"));
  EXPECT_TRUE(contains(refused([](auto& state) { state.set_iter_last_event(-2); }), "iter_last_event is -2"));
}

TEST(StateFile, EveryPrefixIsReadOrRefused) {
  const test::TempDir dir;
  const std::string whole = sample_state().SerializeAsString();
  int refused = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    test::write_file(dir / "s", whole.substr(0, length));
    try {
      read_state(dir / "s");
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.kind(), ErrorKind::kModel);
    }
  }
  EXPECT_GT(refused, static_cast<int>(whole.size()) - 6);
}

TEST(StateFile, RecognisesOtherFiles) {
  const test::TempDir dir;
  const auto what = [&](const std::string& bytes) {
    test::write_file(dir / "s", bytes);
    return std::string(error_of([&] { read_state(dir / "s"); }).what());
  };
  caffe::NetParameter net;
  net.set_name("lenet");
  net.add_layer()->set_name("conv1");
  EXPECT_TRUE(contains(what(net.SerializeAsString()), "these are weights, no solver state; give them with -weights"));
  EXPECT_TRUE(contains(what(net.SerializeAsString().substr(0, 10)), "these are weights"));
  net.clear_name();
  EXPECT_TRUE(contains(what(net.SerializeAsString()), "these are weights"));
  EXPECT_TRUE(contains(what(""), "the file is empty"));
  EXPECT_TRUE(contains(what("\x89HDF\r\n\x1a\n..."), "HDF5"));
  EXPECT_TRUE(contains(what(std::string("\x20\x01", 2)), "no iteration in it"));
  EXPECT_TRUE(contains(error_of([&] { read_state(dir / "none"); }).what(), "No such file"));
}

TEST(BlobProto, RoundTrip) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  caffe::BlobProto proto;
  blob_to_proto({3, 2}, values.data(), &proto);
  EXPECT_FALSE(proto.has_num());
  const BlobData blob = blob_from_proto(proto);
  EXPECT_EQ(blob.shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(blob.data, values);
  EXPECT_FALSE(blob.legacy_dims);
  blob_to_proto({}, values.data(), &proto);
  EXPECT_EQ(blob_from_proto(proto).data, std::vector<float>{1}) << "no axes: one value";
}

TEST(MeanFile, TakesBothFormsOfShape) {
  const test::TempDir dir;
  caffe::BlobProto proto;
  const std::vector<float> values(12, 0.5f);
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{3, 2, 2}, {1, 3, 2, 2}}) {
    blob_to_proto(shape, values.data(), &proto);
    write_binary_proto(dir / "mean", proto);
    EXPECT_EQ(read_mean_file(dir / "mean").shape, (std::vector<int64_t>{3, 2, 2}));
  }
  blob_to_proto({12}, values.data(), &proto);
  write_binary_proto(dir / "mean", proto);
  const Error error = error_of([&] { read_mean_file(dir / "mean"); });
  EXPECT_EQ(error.kind(), ErrorKind::kData);
  EXPECT_TRUE(contains(error.what(), "a mean image has channels, height and width"));
  test::write_file(dir / "mean", test::read_file(dir / "mean").substr(0, 30));
  EXPECT_EQ(error_of([&] { read_mean_file(dir / "mean"); }).kind(), ErrorKind::kData);
  // What claims gigabytes is not even read: here a file with a hole.
  test::write_file(dir / "large", "");
  std::filesystem::resize_file(dir / "large", int64_t{1} << 29);
  const Error large = error_of([&] { read_mean_file(dir / "large"); });
  EXPECT_EQ(large.kind(), ErrorKind::kData);
  EXPECT_TRUE(contains(large.what(), "a mean image of 512 MiB is not read: at most 33554432 values are"));
}

/// As numpy.save writes it in version 1.
std::string npy(const std::string& descr, const std::string& shape, const std::string& numbers,
                const std::string& order = "False") {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header + numbers;
}

template <typename Element>
std::string bytes_of(const std::vector<Element>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Element)};
}

TEST(MeanFile, MayBeAnArrayOfNumpy) {
  const test::TempDir dir;
  const std::vector<float> values{1, 2, 3, 4, 5, 6.5f};
  const auto mean = [&](const std::string& file) {
    test::write_file(dir / "mean.npy", file);
    return read_mean_file(dir / "mean.npy");
  };
  const BlobData floats = mean(npy("<f4", "(3, 1, 2)", bytes_of(values)));
  EXPECT_EQ(floats.shape, (std::vector<int64_t>{3, 1, 2}));
  EXPECT_EQ(floats.data, values);
  EXPECT_EQ(mean(npy("<f8", "(1, 3, 1, 2)", bytes_of(std::vector<double>(values.begin(), values.end())))).data, values);
  EXPECT_EQ(mean(npy("|u1", "(3, 1, 1)", "\x01\xff\x02")).data, (std::vector<float>{1, 255, 2}));

  const auto refusal = [&](const std::string& file) {
    const Error error = error_of([&] { mean(file); });
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_TRUE(contains(error.what(), "mean.npy"));
    return std::string(error.what());
  };
  const std::string whole = npy("<f4", "(3, 1, 2)", bytes_of(values));
  for (size_t end = 0; end < whole.size(); ++end) refusal(whole.substr(0, end));
  EXPECT_TRUE(contains(refusal(whole + "more"), "an array has 7 values, its shape says 6"));
  EXPECT_TRUE(contains(refusal(npy("<i8", "(3, 1, 2)", bytes_of(values))), "numbers of type '<i8'"));
  EXPECT_TRUE(contains(refusal(npy("<f4", "(3, 1, 2)", bytes_of(values), "True")), "in the order of Fortran"));
  EXPECT_TRUE(
      contains(refusal(npy("<f4", "(3,)", bytes_of(std::vector<float>{1, 2, 3}))), "channels, height and width"));
  refusal(npy("<f4", "(4611686018427387904, 4, 4)", bytes_of(values)));
  refusal(npy("<f4", "(-3, 1, 2)", bytes_of(values)));
  refusal(npy("<f4", "(3, 1", bytes_of(values)));
}

}  // namespace
}  // namespace robusta
