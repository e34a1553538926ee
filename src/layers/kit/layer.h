/// What a layer type means: its shapes, its parameters and its place in the net. How it is computed is the business of
/// kernels (kernel.h).
///
/// A layer is made once per net and lives as long as the net. It is asked for shapes again whenever an input changes
/// size; its parameters are declared the first time. Layers hold no tensors.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "caffe.pb.h"
#include "robusta/error.h"
#include "tensor/shape.h"

namespace robusta {

/// How many bottoms and tops a layer takes. -1 as a maximum: any number.
struct Arity {
  int min_bottoms = 1, max_bottoms = 1;
  int min_tops = 1, max_tops = 1;
  bool same_count = false;  ///< as many tops as bottoms
};

/// A parameter that a layer asks for. `filler` null: zeros.
struct ParamDecl {
  Shape shape;
  const caffe::FillerParameter* filler = nullptr;
  bool statistic = false;              ///< never learned, whatever lr_mult says (BatchNorm's running sums)
  std::span<const float> values = {};  ///< what it holds at first, in place of a filler; they live as long as the layer
};

/// Class labels that a layer compares with scores.
struct LabelUse {
  int scores, labels;          ///< bottoms
  int64_t classes;             ///< labels count from 0 to classes - 1
  std::optional<int> ignored;  ///< and this one may stand in place of any
};

/// Where along one axis the pixels of a top lie in a bottom: at scale * coordinate + shift, between pixels if need be.
struct AxisMap {
  double scale = 1, shift = 0;  ///< both in pixels of the bottom
};

/// The name of tops that the prototxt leaves out (Layer::automatic_tops).
inline constexpr char kAutomaticTop[] = "(automatic)";

class Layer {
 public:
  explicit Layer(const caffe::LayerParameter& param) : param_(param) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  const caffe::LayerParameter& param() const { return param_; }
  const std::string& name() const { return param_.name(); }
  const std::string& type() const { return param_.type(); }
  bool training() const { return param_.phase() == caffe::TRAIN; }

  virtual Arity arity() const = 0;

  /// The shapes of the tops for these bottoms (as many as the prototxt names). Throws Error{kConfig} when they do not
  /// fit together. Called before every planning; the layer may keep what it derives for its kernels.
  virtual std::vector<Shape> infer_tops(const std::vector<Shape>& bottoms) = 0;

  /// The parameters, after the first infer_tops. Fixed from then on: a later infer_tops that would need another
  /// parameter shape throws.
  virtual std::vector<ParamDecl> params() const { return {}; }

  /// Arrays that a forward pass leaves to the next one of the same net, after infer_tops: the last states of a
  /// recurrent layer. As many for the whole run; only their extents follow the bottoms.
  virtual std::vector<Shape> carried() const { return {}; }

  /// Loss layers weigh their first top by 1 unless the prototxt says otherwise.
  virtual bool is_loss() const { return false; }
  /// So many tops come by themselves where the prototxt names fewer.
  virtual int automatic_tops() const { return is_loss() ? arity().min_tops : 0; }
  /// True if every top has the content of bottom 0 (Split).
  virtual bool repeats_bottom() const { return false; }
  /// The outputs that the prototxt asks for by `num_output`, for messages; 0: the type has no such field.
  virtual int64_t num_output() const { return 0; }
  /// The labels that it reads, for bottoms of these shapes, which infer_tops has seen.
  virtual std::optional<LabelUse> label_use(const std::vector<Shape>& bottoms) const { return std::nullopt; }
  /// False for bottoms that cannot have a gradient even under force_backward (labels, indices).
  virtual bool allows_gradient(int bottom) const { return true; }
  /// False for layers that have no backward at all (Accuracy, ArgMax): a wanted gradient is then an error.
  virtual bool has_backward() const { return true; }
  /// Floating-point operations of one forward pass, a multiply-add counted as two.
  virtual double forward_flops(const std::vector<Shape>& bottoms, const std::vector<Shape>& tops) const {
    double elements = 0;
    for (const Shape& top : tops) elements += static_cast<double>(top.count());
    return elements;
  }
  /// Sources (Data, Input, DummyData) fill their tops from outside the net; top 0 of the first one sets the batch size.
  virtual bool is_source() const { return false; }

  /// The bottom whose values decide over the shapes of the tops (Filter's selector); -1: bottoms' shapes alone do.
  virtual int sizing_bottom() const { return -1; }
  /// Tells the layer these values, in plain order, before each forward pass: infer_tops gives other shapes from then
  /// on.
  virtual void size_by(std::span<const float> values) {}

  /// For each axis of the top behind batch and channels, where its pixels lie in bottom 0; none: not at places of their
  /// own. As long as extents are equal, at the same ones, unless a layer knows better. After infer_tops.
  virtual std::optional<std::vector<AxisMap>> alignment(const Shape& bottom, const Shape& top) const;
  /// True if the layer has to know where bottom 1 lies in bottom 0 (AutoCrop): it is told before infer_tops.
  virtual bool aligns_bottoms() const { return false; }
  /// Bottom 0's pixels `offsets` lie where bottom 1's first ones do.
  virtual void align(const std::vector<int64_t>& offsets) {}

  /// Names the automatic tops that the prototxt has left out. Called once, before the layer is asked for shapes.
  void name_automatic_tops() {
    while (param_.top_size() < automatic_tops()) param_.add_top(kAutomaticTop);
  }

 private:
  caffe::LayerParameter param_;
};

/// Makes layers by the type string of the prototxt.
using LayerFactory = std::unique_ptr<Layer> (*)(const caffe::LayerParameter&);

/// All known types, sorted.
std::vector<std::string> layer_types();
/// False when the type is known already. May be called while other threads build nets (plugins do).
bool register_layer(const std::string& type, LayerFactory factory);

/// Throws Error{kConfig} with the nearest known type. The layer's constructor checks what can be checked without
/// shapes.
std::unique_ptr<Layer> make_layer(const caffe::LayerParameter& param);

/// At namespace scope of the layer's own file: `ROBUSTA_REGISTER_LAYER("ReLU", ReluLayer);`
#define ROBUSTA_REGISTER_LAYER(type, Class)                                                                         \
  static const bool registered_layer_##Class =                                                                      \
      ::robusta::register_layer(type, [](const caffe::LayerParameter& param) -> std::unique_ptr<::robusta::Layer> { \
        return std::make_unique<Class>(param);                                                                      \
      })

}  // namespace robusta
