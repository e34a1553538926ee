/// Fused chains with typed links: the pattern is described once, for registering a kernel and for reading its request.
///
///     const auto kChain = chain(of<ConvolutionLayer>("Convolution"), maybe<ChannelNorm>(),
///                               maybe_then<ChannelScale>(), maybe<Rectifier>());
///     ...
///     const auto [convolution, norm, scale, relu] = kChain.links(request);
///     if (relu) slope = relu->slope();
///     ...
///     ROBUSTA_REGISTER_KERNEL(kChain, "onednn", 20, make_convolution_onednn);
///
/// The first link names a layer type and its class, which are of the kernel's own folder; the others ask for roles
/// (roles.h). A kernel is offered every row of layers that its pattern takes, the longest first.
#pragma once

#include <array>
#include <tuple>
#include <utility>

#include "layers/kit/kernel.h"

namespace robusta {

/// A link of a pattern for layers that are a T.
template <typename T>
struct LinkSpec {
  PatternLink link;
};

template <typename T>
bool layer_is(const Layer& layer) {
  return dynamic_cast<const T*>(&layer) != nullptr;
}

/// A layer of this type, whose class is T.
template <typename T>
LinkSpec<T> of(std::string type) {
  return {{.type = std::move(type), .is = layer_is<T>}};
}
/// A layer that is a T.
template <typename T>
LinkSpec<T> one() {
  return {{.is = layer_is<T>}};
}
/// A layer that is a T, or none.
template <typename T>
LinkSpec<T> maybe() {
  return {{.is = layer_is<T>, .optional = true}};
}
/// The same, and none unless the link before has a layer.
template <typename T>
LinkSpec<T> maybe_then() {
  return {{.is = layer_is<T>, .optional = true, .needs_previous = true}};
}
/// The layer of this link may have bottoms from elsewhere (an Eltwise sum, say): Link::bottom says where they are.
template <typename T>
LinkSpec<T> joining(LinkSpec<T> spec) {
  spec.link.joins = true;
  return spec;
}

/// The layer that took a link's place, and its share of the request; empty where there is none.
template <typename T>
class Link {
 public:
  Link() = default;
  Link(const KernelRequest& request, int place)
      : layer_(place < 0 ? nullptr : &dynamic_cast<const T&>(*request.layers[static_cast<size_t>(place)])),
        share_(place < 0 ? ChainShare{} : request.share(static_cast<size_t>(place))) {}

  explicit operator bool() const { return layer_ != nullptr; }
  const T* operator->() const { return layer_; }
  const T& operator*() const { return *layer_; }
  const T* get() const { return layer_; }

  /// The index of the layer's parameter i among all of the request.
  int param(int i) const { return share_.first_param + i; }
  /// The index of the layer's bottom i among those of the request; -1 for the one that comes from the chain.
  int bottom(int i) const {
    if (i == share_.chain_bottom) return -1;
    return share_.first_bottom + i - (share_.chain_bottom >= 0 && i > share_.chain_bottom ? 1 : 0);
  }

 private:
  const T* layer_ = nullptr;
  ChainShare share_;
};

template <typename... Ts>
class Chain {
 public:
  explicit Chain(const LinkSpec<Ts>&... specs) : pattern_(std::vector<PatternLink>{specs.link...}) {}

  operator const ChainPattern&() const { return pattern_; }  // NOLINT: stands for its pattern in registrations

  /// REQUIRES: layers that the pattern takes.
  std::tuple<Link<Ts>...> links(const KernelRequest& request) const {
    return links(request, pattern_.match(request.layers), std::index_sequence_for<Ts...>{});
  }

 private:
  template <size_t... kIndex>
  std::tuple<Link<Ts>...> links(const KernelRequest& request, const std::vector<int>& places,
                                std::index_sequence<kIndex...>) const {
    return {Link<Ts>(request, places.at(kIndex))...};
  }

  ChainPattern pattern_;
};

template <typename... Ts>
Chain<Ts...> chain(const LinkSpec<Ts>&... specs) {
  return Chain<Ts...>(specs...);
}

}  // namespace robusta
