/// What sources read in tests that try numbers of layers: small files of each kind.
#pragma once

#include <filesystem>
#include <string>

#include "caffe.pb.h"
#include "data/hdf5_access.h"
#include "data/image.h"
#include "data/lmdb/lmdb_writer.h"
#include "robusta/error.h"
#include "support/files.h"

namespace robusta::test {

inline bool has_hdf5() {
  try {
    hdf5_access();
    return true;
  } catch (const Error&) {
    return false;
  }
}

class ExtremeSources {
 public:
  ExtremeSources() {
    Image image;
    image.reset({3, 8, 8});
    write_file(folder_ / "image.png", encode_image(image, ImageFormat::kPng));
    write_file(images(), (folder_ / "image.png") + " 1\n");
    write_file(pairs(), (folder_ / "image.png") + " " + (folder_ / "image.png") + "\n");
    write_file(windows(), "# 0 " + (folder_ / "image.png") + " 3 8 8 2\n1 1 0 0 3 3\n1 0 4 4 7 7\n");
    write_file(objects(), "# 0 " + (folder_ / "image.png") + " 3 8 8 2\n1 0 0 0 3 3\n2 1 4 4 7 7\n1\n5 0 7 3\n");
    write_film(image);
    write_databases(image);
    if (!has_hdf5()) return;
    std::vector<float> numbers(16);
    const auto file = hdf5_access().create(folder_ / "rows.h5");
    for (const char* top : {"top", "top2"}) file->append(top, {{{4, 2, 2}, DType::kF32, nullptr}, numbers.data()});
    write_file(rows(), folder_ / "rows.h5");
  }

  std::string images() const { return folder_ / "images.txt"; }
  std::string pairs() const { return folder_ / "pairs.txt"; }
  std::string windows() const { return folder_ / "windows.txt"; }
  std::string objects() const { return folder_ / "objects.txt"; }
  std::string rows() const { return folder_ / "rows.txt"; }
  std::string films() const { return folder_ / "films.txt"; }
  /// Where layers may write.
  std::string output() const { return folder_ / "output"; }

  /// Of the parameters of a layer of the type; "" for others.
  std::string source_of(const std::string& message, const std::string& type) const {
    if (type == "ImageLabelmapData") return pairs();
    return message == "ImageDataParameter"        ? images()
           : message == "DenseImageDataParameter" ? pairs()
           : message == "WindowDataParameter"     ? windows()
           : message == "ImageGtDataParameter"    ? objects()
           : message == "HDF5DataParameter"       ? rows()
           : message == "VideoDataParameter"      ? films()
                                                  : "";
  }

  /// What data_param.source is for a layer of the type; "" for others.
  std::string database_of(const std::string& type) const {
    return type == "Data" || type == "AnnotatedData" || type == "BoxData" ? folder_ / type : "";
  }

 private:
  /// Of two frames.
  void write_film(const Image& image) {
    std::filesystem::create_directory(folder_ / "film");
    for (const char* frame : {"film/image_0001.jpg", "film/image_0002.jpg"})
      write_file(folder_ / frame, encode_image(image, ImageFormat::kPng));
    write_file(films(), (folder_ / "film") + " 1 1\n");
  }

  /// A record each, with a box where there can be one.
  void write_databases(const Image& image) {
    caffe::AnnotatedDatum annotated;
    caffe::Datum& datum = *annotated.mutable_datum();
    datum.set_encoded(true);
    datum.set_data(encode_image(image, ImageFormat::kPng));
    LmdbWriter plain(folder_ / "Data");
    plain.put("0", datum.SerializeAsString());
    plain.finish();
    annotated.set_type(caffe::AnnotatedDatum::BBOX);
    caffe::NormalizedBBox& box = *annotated.add_annotation_group()->add_annotation()->mutable_bbox();
    box.set_xmax(0.5f);
    box.set_ymax(0.5f);
    LmdbWriter with_boxes(folder_ / "AnnotatedData");
    with_boxes.put("0", annotated.SerializeAsString());
    with_boxes.finish();
    for (const float number : {1.0f, 0.0f, 0.5f, 0.5f, 0.25f, 0.25f}) datum.add_float_data(number);
    LmdbWriter with_numbers(folder_ / "BoxData");
    with_numbers.put("0", datum.SerializeAsString());
    with_numbers.finish();
  }

  TempDir folder_;
};

}  // namespace robusta::test
