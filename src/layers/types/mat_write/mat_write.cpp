// The names of files, and the kernel of the host.

#include "layers/types/mat_write/mat_write.h"

#include <filesystem>
#include <sstream>

#include "base/input_text.h"
#include "base/log.h"
#include "base/str.h"
#include "layers/kit/booking.h"
#include "layers/kit/elementwise.h"
#include "layers/kit/field_checks.h"
#include "layers/types/mat_write/mat_file.h"

namespace robusta {
namespace {

constexpr char kSource[] = "mat_write_param.source";

std::string list_at(const std::string& path) {
  try {
    return read_input_text(path, ErrorKind::kData);
  } catch (Error& error) {
    error.in_field(kSource);
    throw;
  }
}

}  // namespace

MatWriteLayer::MatWriteLayer(const caffe::LayerParameter& param) : Layer(param) {
  const auto& p = param.mat_write_param();
  if (!p.has_prefix()) {
    throw wrong_setting("mat_write_param.prefix", "no prefix is given",
                        "give what the names of the files begin with, such as a folder and a slash");
  }
  if (p.period() < 1) {
    throw wrong_setting("mat_write_param.period", str("period is ", p.period()), "give 1 to write every pass");
  }
  if (p.strip() < 0) {
    throw wrong_setting("mat_write_param.strip", str("strip is ", p.strip()),
                        "give 0, or how many letters to leave out");
  }
}

void MatWriteLayer::read_files(bool may_be_absent) {
  const auto& p = param().mat_write_param();
  reads_list_ = false;
  if (p.source().empty()) return;
  std::error_code unknown;
  if (may_be_absent && !std::filesystem::exists(p.source(), unknown)) {
    LOG_WARNING << "Layer " << name() << ": " << p.source() << " does not exist, and files are named by their pass";
    return;
  }
  std::istringstream list(list_at(p.source()));
  for (std::string line; std::getline(list, line);) {
    std::string word;
    if (!(std::istringstream(line) >> word)) continue;
    const auto strip = static_cast<size_t>(p.strip());
    if (word.size() <= strip) {
      throw Error(ErrorKind::kData,
                  str(p.source(), ": \"", word, "\" has no more than the ", strip, " letters to strip"),
                  "correct the list, or strip less")
          .in_field("mat_write_param.strip");
    }
    names_.push_back(word.substr(0, word.size() - strip));
  }
  if (names_.empty()) throw Error(ErrorKind::kData, str("the list ", p.source(), " is empty")).in_field(kSource);
}

std::vector<Shape> MatWriteLayer::infer_tops(const std::vector<Shape>&) {
  if (reads_list_) read_files(false);
  return {};
}

std::string MatWriteLayer::place(size_t bottom) const {
  const auto pass = static_cast<size_t>(passes_);
  if (!names_.empty() && pass >= names_.size()) {
    throw Error(ErrorKind::kData, str("this is pass ", pass + 1, ", and the list has ", names_.size(), " names"),
                "run as many passes as there are names (test_iter, -iterations)")
        .in_field(kSource);
  }
  const std::string name = names_.empty() ? str("iter_", pass) : names_[pass];
  return str(param().mat_write_param().prefix(), name, "_blob_", bottom, ".mat");
}

void MatWriteLayer::write(const std::vector<Tensor>& bottoms, const Pass& pass) const {
  if (pass.ranks && pass.ranks->ranks() > 1) {
    throw Error(ErrorKind::kUnsupported, "several ranks would write the same files", "run one rank");
  }
  for (size_t i = 0; writes() && i < bottoms.size(); ++i) write_mat_file(place(i), "data", bottoms[i]);
  ++passes_;
}

MatWriteKernel::MatWriteKernel(const KernelRequest& request) : layer_(request.layer<MatWriteLayer>()) {
  book_reads_nothing(request.bottoms.size(), booking_);
  booking_.host_work = true;
}

namespace {

class MatWriteReference : public MatWriteKernel {
 public:
  using MatWriteKernel::MatWriteKernel;
  void forward(const KernelRun& run) override { layer_.write({run.bottoms.begin(), run.bottoms.end()}, *run.pass); }
  void backward(const KernelRun& run) override {
    for (const Tensor& diff : run.bottom_diffs) {
      if (diff) fill_zero(diff);
    }
  }
};

std::unique_ptr<Kernel> make_mat_write(const KernelRequest& request, std::string&) {
  return std::make_unique<MatWriteReference>(request);
}

}  // namespace

ROBUSTA_REGISTER_LAYER("MatWrite", MatWriteLayer);
ROBUSTA_REGISTER_KERNEL("MatWrite", "reference", 0, make_mat_write);

}  // namespace robusta
