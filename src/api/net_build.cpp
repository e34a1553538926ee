// How a public Net comes to be, and its weights from and to files.

#include "api/devices.h"
#include "api/net_impl.h"
#include "base/str.h"
#include "net/graph/missing.h"
#include "net/plan/precision.h"
#include "schema/filter.h"
#include "schema/ignored_fields.h"
#include "schema/read_text.h"
#include "schema/splits.h"
#include "schema/text_file.h"
#include "solver/files/model_format.h"
#include "solver/files/weights.h"

namespace robusta::v1 {
namespace {

/// The net in its state, with splits: what the engine builds.
NetDef in_state(const NetDef& def, const NetOptions& options) {
  caffe::NetState state;
  state.set_phase(options.phase == Phase::kTrain ? caffe::TRAIN : caffe::TEST);
  state.MergeFrom(def.param.state());
  state.set_level(options.level);
  for (const std::string& stage : options.stages) state.add_stage(stage);
  return net_in_state(def, state);
}

robusta::NetOptions inside(const NetOptions& options, Device* device, Tuner* tuner) {
  robusta::NetOptions own;
  own.phase = options.phase == Phase::kTrain ? caffe::TRAIN : caffe::TEST;
  own.dtype = computing_type(options.dtype);
  own.precision = precision_from(options.precision, *device, tuner);
  own.device = device;
  own.seed = options.seed;
  own.backward = options.backward;
  own.kernels = options.kernels;
  own.fuse = options.fuse;
  own.keep_blobs = options.keep_blobs;
  own.skip_unread = true;
  own.seed_diffs = options.given_gradients;
  own.batch = options.batch;
  own.tuner = tuner;
  if (options.share_with) own.share_params = &Net::Impl::engine_of(*options.share_with);
  return own;
}

Net build(const NetDef& def, const NetOptions& options) {
  IgnoredFieldWarnings().look_at(def);
  auto impl = std::make_unique<Net::Impl>();
  if (!options.share_with) impl->device = open_device(options.gpu);
  Device* device =
      options.share_with ? Net::Impl::engine_of(*options.share_with).options().device : device_or_cpu(impl->device);
  if (options.autotune) impl->tuner = std::make_unique<RecordingTuner>("");
  impl->owned = std::make_unique<robusta::Net>(in_state(def, options), inside(options, device, impl->tuner.get()));
  impl->net = impl->owned.get();
  for (const std::string& blob : options.given_gradients) impl->net->blobs().shape(blob);  // throws where there is none
  return Net(std::move(impl));
}

/// By the end of the name, as the file is not there yet.
const ModelFormat& format_for(const std::string& path) {
  for (const ModelFormat* format : model_formats()) {
    const std::string ending = format->model_ending();
    if (path.ends_with(ending.substr(ending.rfind('.')))) return *format;
  }
  if (path.ends_with(".h5")) {
    throw Error(ErrorKind::kUnsupported, "this build writes no HDF5 files", "build with libhdf5 (-DROBUSTA_HDF5=ON)");
  }
  return default_format();
}

}  // namespace

Net::Net(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Net::Net(Net&&) noexcept = default;
Net& Net::operator=(Net&&) noexcept = default;
Net::~Net() = default;

Net Net::from_file(const std::string& path, const NetOptions& options) { return build(read_whole_net(path), options); }

std::string Net::text_of_file(const std::string& path) { return load_text(path); }

Net Net::from_text(const std::string& text, const NetOptions& options, const std::string& name) {
  return build(parse_whole_net(text, name), options);
}

LoadReport Net::load_weights(const std::string& path) {
  const CopyReport report = copy_weights(format_of_file(path).read_model(path), path, *impl_->net);
  return {report.copied, report.skipped, report.missing};
}

void Net::save_weights(const std::string& path, bool with_gradients) const {
  if (with_gradients && !impl_->net->options().backward) {
    throw Error(ErrorKind::kUsage, "the net has no gradients to save", "build it with backward");
  }
  format_for(path).write_model(path, *impl_->net, with_gradients);
}

}  // namespace robusta::v1
