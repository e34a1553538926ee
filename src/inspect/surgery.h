/// Weights with layers renamed, dropped, or taken from other weights.
///
/// Layers are matched by name, as Caffe does when it reads weights; definitions of layers that the file holds stay with
/// them. Arrays come out as f32 in Caffe's newest form.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "caffe.pb.h"
#include "schema/source.h"
#include "schema/weights_file.h"

namespace robusta {

/// A layer `from` that is called `to` afterwards.
struct Renaming {
  std::string from, to;
};

struct Transplant {
  std::string path;              ///< of the weights that layers are taken from
  std::vector<Renaming> layers;  ///< their names there and here
};

struct SurgeryOptions {
  std::vector<Renaming> rename = {};        ///< all at once, so two names may be exchanged
  std::vector<std::string> drop = {};       ///< names of layers, after renaming
  std::vector<Transplant> transplant = {};  ///< after dropping, in this order
  std::string like = {};  ///< a net: the result has its layers, in its order and shapes; "": as the weights are
  caffe::Phase like_phase = caffe::TRAIN;  ///< of that net
};

/// "a,b=c" as a -> a, b -> c. Throws Error{kUsage} for empty names, and for one that comes twice.
std::vector<Renaming> parse_renamings(const std::string& list);

/// "FROM.caffemodel:conv1,fc8=fc8_new;OTHER:fc7". Throws Error{kUsage}.
std::vector<Transplant> parse_transplants(const std::string& text);

/// Renames, then drops, then transplants, then fits to the net, and logs each. A layer that takes the place of another
/// must have its arrays' shapes, unless a net says what they have to be. Throws Error{kUsage} for layers that are not
/// there (with the nearest name), Error{kModel} for weights that cannot be read or shapes that do not fit.
caffe::NetParameter operate(const std::string& weights, const SurgeryOptions& options);

}  // namespace robusta
