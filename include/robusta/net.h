/// A net: built from a prototxt, given inputs and weights, run forward and backward.
///
///   robusta::Net net = robusta::Net::from_file("deploy.prototxt");
///   net.load_weights("lenet.caffemodel");
///   net.write("data", pixels);
///   net.forward();
///   std::vector<float> scores = net.read("prob");
///
/// Every call may throw robusta::Error (error.h), whose kind, file, line and layer say what is wrong and what to do:
/// kUsage for a name that the net does not have or numbers that do not fit its shape, kConfig for the prototxt, kData
/// for its sources, kModel for weights, kMemory, kDevice. A net that threw while it was built does not exist; one that
/// threw in a pass stays usable.
///
/// One thread at a time drives a net; different nets may run in different threads, with different options: nothing is
/// shared but the machine, unless NetOptions::share_with says so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "robusta/error.h"
#include "robusta/tensor.h"

namespace robusta::ROBUSTA_V1 {

enum class Phase { kTrain, kTest };

class Net;

/// What a program decides beyond the prototxt.
struct NetOptions {
  Phase phase = Phase::kTest;
  int level = 0;                    ///< of the net's state, for the include and exclude rules of layers
  std::vector<std::string> stages;  ///< the same
  DType dtype = DType::kF32;        ///< or kF64: everything in double precision, by the reference kernels
  int gpu = -1;                     ///< number of the GPU; -1: the processor
  std::string precision;            ///< of activations: "f32", "bf16", "fp16", "auto"; "": as the net says
  uint64_t seed = 1;                ///< of fillers, dropout and random crops
  bool backward = false;            ///< gradients are wanted: plans backward, and memory for it
  bool keep_blobs = false;          ///< every blob is kept after a pass; false: inputs and outputs, in less memory
  std::vector<std::string> given_gradients;  ///< outputs whose gradient write_gradient will set before backward
  int64_t batch = 0;                         ///< > 0: samples per batch, in place of that of every source
  std::string kernels = "auto";              ///< "auto": the fastest; or one backend: "reference", "onednn", ...
  bool fuse = true;                          ///< kernels may span several layers
  bool autotune = false;                     ///< times kernels when planning and takes the fastest
  /// Layers of the same name use that net's parameters and gradients. It lives longer, has the same dtype, and backward
  /// where this one has it.
  const Net* share_with = nullptr;
};

struct LayerInfo {
  std::string name, type;
  std::vector<std::string> bottoms, tops;
  int parameters = 0;
};

/// A learnable array, or a statistic that its layer keeps.
struct ParameterInfo {
  std::string layer;
  int index = 0;     ///< among those of its layer: 0 are usually the weights, 1 the bias
  std::string name;  ///< of its ParamSpec, else the index
  Shape shape;
  float lr_mult = 1, decay_mult = 1;
  bool learns = true;
};

/// Which layers of a weights file found their place.
struct LoadReport {
  std::vector<std::string> copied;
  std::vector<std::string> unused;   ///< in the file, not in the net
  std::vector<std::string> missing;  ///< in the net, not in the file: they keep what they had
};

/// Told of a layer, on the thread that runs the pass.
using LayerCallback = std::function<void(const std::string& layer, bool backward)>;

/// An input, and the shape that it is to have.
struct InputShape {
  std::string input;
  Shape shape;
};

/// Layers from `start` to `end`, both included, by their names in layers(). Where one is empty, the pass begins (ends)
/// as a whole one does. Backward starts above and ends below: {.start = "fc8", .end = "conv3"}.
struct LayerRange {
  std::string start = {}, end = {};
};

class ROBUSTA_API Net {
 public:
  /// From a prototxt of any of Caffe's generations and forks.
  static Net from_file(const std::string& path, const NetOptions& options = {});
  /// The text that from_file would read, from a file or a pipe. Throws as it does where there is none.
  static std::string text_of_file(const std::string& path);
  /// From its text; `name` stands for the file in messages.
  static Net from_text(const std::string& text, const NetOptions& options = {}, const std::string& name = "net");
  Net(Net&&) noexcept;
  Net& operator=(Net&&) noexcept;
  ~Net();

  /// Copies the arrays of the layers with the same name from a .caffemodel, of Caffe's own format or HDF5.
  LoadReport load_weights(const std::string& path);
  /// Writes a .caffemodel, or, where the name ends with .h5, an HDF5 file, whole or not at all; with the gradients if
  /// wanted.
  void save_weights(const std::string& path, bool with_gradients = false) const;

  std::string name() const;
  /// In the order of forward. Where several layers read a blob, a layer of type Split stands before them: its backward
  /// adds up their gradients.
  std::vector<LayerInfo> layers() const;
  std::vector<std::string> blobs() const;
  std::vector<std::string> inputs() const;   ///< tops of Input layers
  std::vector<std::string> outputs() const;  ///< blobs that no layer reads, by name
  bool has_blob(const std::string& blob) const;
  /// Without backward and keep_blobs, blobs between layers may have fewer pixels than the definition says.
  Shape shape(const std::string& blob) const;
  /// Samples per batch: the first extent of the first source's first top.
  int64_t batch() const;

  /// Gives an input another shape. Its content and that of all other blobs is lost; views end. Where it throws the
  /// shapes stay, and, unless it was for memory (kMemory), what the inputs hold.
  void reshape(const std::string& input, const Shape& shape);
  /// The same of several at once, whose shapes have to fit together:
  /// net.reshape({{"data", {8, 3, 32, 32}}, {"label", {8}}}).
  void reshape(const std::vector<InputShape>& inputs);

  /// Runs all layers; returns the loss: the sum of weight x value over the tops that have a loss_weight, 0 without
  /// any. Sources give the batch at position(), which then moves on by batch().
  double forward();
  /// Runs all layers back after forward(), once per forward, or as often as wanted with keep_blobs: an Error of kind
  /// kUsage without it. Gradients of parameters are overwritten, or added to. REQUIRES: NetOptions::backward.
  void backward(bool add_to_gradients = false);

  /// Runs some layers forward: net.forward({.start = "conv3", .end = "pool5"}). The blobs that they write are computed
  /// from what passes, parts of passes and write() have left in the blobs that they read; the loss is that of these
  /// layers. Sources among them give the batch at position(), which then moves on; without any, dropout and the like
  /// draw as in the last pass.
  /// Layers that work in place leave one blob: it is what the last of them that ran has made; an input stays beside
  /// what they make of it. An Error of kind kUnsupported says that a range cannot begin or end where it does: within
  /// layers that one kernel computes (NetOptions::fuse = false has none), or where a blob as a layer in place finds it
  /// is not kept. Nothing has been run then, but where a Filter in the range has changed shapes. REQUIRES:
  /// NetOptions::keep_blobs.
  double forward(const LayerRange& range);
  /// Runs some layers back: net.backward({.start = "pool5"}). It begins with the gradients that passes or
  /// write_gradient() have left in the blobs that these layers write (of a loss: its weight), and may be run again.
  /// Parameters that several layers share are overwritten by the last of these, and added to by the others. Throws as
  /// above, and kUsage for a layer that has not run forward since the net was built or took other shapes.
  /// REQUIRES: NetOptions::keep_blobs and backward.
  void backward(const LayerRange& range, bool add_to_gradients = false);

  /// The sample, counted from the first of the source, that the next forward begins with. Same position and seed:
  /// same batch, same crops, same dropout.
  uint64_t position() const;
  void seek(uint64_t sample);

  /// Copies of blobs and their gradients, in C order, as floats whatever the net stores. Readable are inputs,
  /// outputs, and with keep_blobs all others; the last write of a name counts where layers work in place.
  std::vector<float> read(const std::string& blob) const;
  std::vector<float> read_gradient(const std::string& blob) const;
  /// As many numbers as the blob has. An input keeps them, also where layers work on it in place: each pass begins with
  /// what was written. REQUIRES: it is an input, or NetOptions::keep_blobs; others a pass writes before it reads them.
  void write(const std::string& blob, std::span<const float> numbers);
  /// Gives a MemoryData layer its samples: numbers, channels x height x width each, one behind the other, and a label
  /// for each sample. They are copied, and passes go over them again and again, as position() says, from the next one
  /// on. A pass before that is an Error of kind kConfig. REQUIRES: one sample or more; kUsage otherwise.
  void set_samples(const std::string& layer, std::span<const float> data, std::span<const float> labels);
  /// REQUIRES: NetOptions::given_gradients names the blob, or NetOptions::keep_blobs; kUsage for a blob without one.
  void write_gradient(const std::string& blob, std::span<const float> numbers);

  /// The memory of a blob itself, where it lies on the host in C order; an Error of kind kUnsupported says where it
  /// does not. It holds until the net is reshaped, its sources change their shape, or it ends; read it after a pass
  /// and write it (inputs alone) before one. An input that layers work on in place has none.
  TensorView view(const std::string& blob) const;
  TensorView gradient_view(const std::string& blob) const;

  /// Keeps the memory that views show now: whoever holds it may use their addresses, also when the net has been
  /// reshaped or restored, or is gone, and uses other memory. It has to end before its GPU's last net.
  std::shared_ptr<const void> hold_memory() const;
  /// How often the net has taken memory for its blobs: views of them hold until it is another number.
  uint64_t plannings() const;
  /// The factor of a top in the loss of a pass; 0: it is none.
  double loss_weight(const std::string& blob) const;

  /// In the order of .caffemodel files; parameters that layers share are there once, with their owner.
  std::vector<ParameterInfo> parameters() const;
  /// The shape of a layer's own parameter, or of one that it shares.
  Shape parameter_shape(const std::string& layer, int index) const;
  std::vector<float> read_parameter(const std::string& layer, int index) const;
  void write_parameter(const std::string& layer, int index, std::span<const float> numbers);
  std::vector<float> read_parameter_gradient(const std::string& layer, int index) const;
  void write_parameter_gradient(const std::string& layer, int index, std::span<const float> numbers);
  /// The memory of a parameter itself, on the host. From then on the net expects it to change between passes. It
  /// holds as long as the net.
  TensorView parameter_view(const std::string& layer, int index);
  TensorView parameter_gradient_view(const std::string& layer, int index);

  /// Called before (after) each layer of every pass from now on; an empty one ends that. Layers that run fused are
  /// told of one by one, after the last. `after` needs keep_blobs, and may read blobs.
  void before_each_layer(LayerCallback callback);
  void after_each_layer(LayerCallback callback);

  struct Impl;  ///< the library's own
  explicit Net(std::unique_ptr<Impl> impl);

 private:
  friend struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace robusta::ROBUSTA_V1
