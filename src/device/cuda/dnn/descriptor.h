/// One object of cuDNN's graph API (its C backend), owned.
///
/// Attributes are set, then the object is finalised; from then on it only answers. A finalised object may be used by
/// others and has to outlive them. Used by one thread at a time.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/cuda_libraries.h"

namespace robusta::dnn {

/// How the C interface names the types of attributes.
template <typename T>
constexpr cudnnBackendAttributeType_t attribute_type();
template <>
constexpr cudnnBackendAttributeType_t attribute_type<int64_t>() {
  return CUDNN_TYPE_INT64;
}
template <>
constexpr cudnnBackendAttributeType_t attribute_type<float>() {
  return CUDNN_TYPE_FLOAT;
}
template <>
constexpr cudnnBackendAttributeType_t attribute_type<bool>() {
  return CUDNN_TYPE_BOOLEAN;
}
template <>
constexpr cudnnBackendAttributeType_t attribute_type<char>() {
  return CUDNN_TYPE_CHAR;
}
template <>
constexpr cudnnBackendAttributeType_t attribute_type<cudnnDataType_t>() {
  return CUDNN_TYPE_DATA_TYPE;
}
template <>
constexpr cudnnBackendAttributeType_t attribute_type<cudnnConvolutionMode_t>() {
  return CUDNN_TYPE_CONVOLUTION_MODE;
}
template <>
constexpr cudnnBackendAttributeType_t attribute_type<cudnnPointwiseMode_t>() {
  return CUDNN_TYPE_POINTWISE_MODE;
}
template <>
constexpr cudnnBackendAttributeType_t attribute_type<cudnnGenStatsMode_t>() {
  return CUDNN_TYPE_GENSTATS_MODE;
}
template <>
constexpr cudnnBackendAttributeType_t attribute_type<cudnnBackendHeurMode_t>() {
  return CUDNN_TYPE_HEUR_MODE;
}
template <>
constexpr cudnnBackendAttributeType_t attribute_type<cudnnBackendKnobType_t>() {
  return CUDNN_TYPE_KNOB_TYPE;
}
template <>
constexpr cudnnBackendAttributeType_t attribute_type<cudnnBackendNumericalNote_t>() {
  return CUDNN_TYPE_NUMERICAL_NOTE;
}
template <>
constexpr cudnnBackendAttributeType_t attribute_type<cudnnHandle_t>() {
  return CUDNN_TYPE_HANDLE;
}
template <>
constexpr cudnnBackendAttributeType_t attribute_type<void*>() {
  return CUDNN_TYPE_VOID_PTR;
}

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  cudnnBackendDescriptor_t get() const { return handle_; }

  template <typename T>
  void set(cudnnBackendAttributeName_t name, const T& value) {
    set_raw(name, attribute_type<T>(), 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.handle_);
  }
  template <typename T>
  void set_all(cudnnBackendAttributeName_t name, const std::vector<T>& values) {
    set_raw(name, attribute_type<T>(), static_cast<int64_t>(values.size()), values.data());
  }
  /// An attribute that is a list of objects.
  void set_list(cudnnBackendAttributeName_t name, const std::vector<const Descriptor*>& values);

  /// Throws what check_dnn throws.
  void finalize();
  /// False where cuDNN has no such thing; `why_not` then says why.
  bool try_finalize(std::string& why_not);

  template <typename T>
  T get(cudnnBackendAttributeName_t name) const {
    T value{};
    get_raw(name, attribute_type<T>(), 1, &value);
    return value;
  }
  template <typename T>
  std::vector<T> get_all(cudnnBackendAttributeName_t name, int64_t most) const {
    std::vector<T> values(static_cast<size_t>(most));
    values.resize(static_cast<size_t>(get_raw(name, attribute_type<T>(), most, values.data())));
    return values;
  }
  /// An attribute that is an object, or a list of at most `most` objects, of this type.
  Descriptor get_object(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type) const;
  std::vector<Descriptor> get_objects(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                      int64_t most) const;
  /// How many elements the attribute has.
  int64_t count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
    return get_raw(name, type, 0, nullptr);
  }

 private:
  void set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* values);
  /// Returns how many of at most `most` were given; for `most` 0, how many there are.
  int64_t get_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most, void* values) const;

  cudnnBackendDescriptor_t handle_ = nullptr;
};

}  // namespace robusta::dnn
