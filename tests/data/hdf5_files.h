/// Small HDF5 files made by the tests themselves, and how a layer is told of them.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <string>
#include <vector>

#include "caffe.pb.h"

namespace robusta::test {

/// How a dataset is stored.
struct DatasetForm {
  hid_t type = H5T_IEEE_F32LE;
  std::vector<hsize_t> chunk = {};  ///< empty: in one piece
  bool deflate = false;
};

class Hdf5Maker {
 public:
  explicit Hdf5Maker(const std::string& path)
      : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {}
  ~Hdf5Maker() { H5Fclose(file_); }
  hid_t file() const { return file_; }

  void add(const std::string& name, const std::vector<hsize_t>& dims, const std::vector<double>& values,
           const DatasetForm& form = {}) {
    const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (!form.chunk.empty()) H5Pset_chunk(creation, static_cast<int>(form.chunk.size()), form.chunk.data());
    if (form.deflate) H5Pset_deflate(creation, 6);
    const hid_t data = H5Dcreate2(file_, name.c_str(), form.type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    EXPECT_GE(data, 0);
    if (!values.empty()) {
      EXPECT_GE(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    }
    H5Dclose(data);
    H5Pclose(creation);
    H5Sclose(space);
  }

 private:
  hid_t file_;
};

/// begin, begin + 1, ...
inline std::vector<double> counted_values(size_t count, double begin = 0) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = begin + static_cast<double>(i);
  return values;
}

inline caffe::LayerParameter hdf5_layer(const std::string& source, const std::string& settings,
                                        const std::vector<std::string>& tops = {"data", "label"}) {
  caffe::LayerParameter param;
  const std::string text = "name: 'd' type: 'HDF5Data' hdf5_data_param { source: '" + source + "' " + settings + " }";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  for (const std::string& top : tops) param.add_top(top);
  param.set_phase(caffe::TRAIN);
  return param;
}

}  // namespace robusta::test
