/// The binary files of CIFAR-10.
#pragma once

#include <cstdint>
#include <string>

namespace robusta {

/// Writes data_batch_1.bin .. data_batch_5.bin of `in_folder` as `out_folder`/cifar10_train_<backend> and
/// test_batch.bin as cifar10_test_<backend> (writer_kinds.h): key %05d, Datum 3 x 32 x 32 with planes R, G, B as in the
/// files. `records_per_file` is 10,000 in the published ones. Throws Error{kData, kOutput}; then neither folder is
/// there.
void convert_cifar(const std::string& in_folder, const std::string& out_folder, const std::string& backend,
                   int64_t records_per_file = 10000);

}  // namespace robusta
