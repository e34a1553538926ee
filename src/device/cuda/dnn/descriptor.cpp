// Owners of cuDNN's backend descriptors and their attributes.

#include "device/cuda/dnn/descriptor.h"

#include <algorithm>

#include "device/cuda/dnn/dnn_error.h"

namespace robusta::dnn {

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  check_dnn(cudnnBackendCreateDescriptor(type, &handle_), "cudnnBackendCreateDescriptor");
}

Descriptor::~Descriptor() {
  if (handle_) cudnnBackendDestroyDescriptor(handle_);
}

void Descriptor::set_list(cudnnBackendAttributeName_t name, const std::vector<const Descriptor*>& values) {
  std::vector<cudnnBackendDescriptor_t> handles;
  for (const Descriptor* value : values) handles.push_back(value->handle_);
  set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(handles.size()), handles.data());
}

void Descriptor::finalize() { check_dnn(cudnnBackendFinalize(handle_), "cudnnBackendFinalize"); }

bool Descriptor::try_finalize(std::string& why_not) {
  const cudnnStatus_t status = cudnnBackendFinalize(handle_);
  if (status != CUDNN_STATUS_SUCCESS) why_not = dnn_message(status);
  return status == CUDNN_STATUS_SUCCESS;
}

Descriptor Descriptor::get_object(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type) const {
  Descriptor object(type);
  get_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &object.handle_);
  return object;
}

std::vector<Descriptor> Descriptor::get_objects(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                                int64_t most) const {
  std::vector<Descriptor> objects;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int64_t i = 0; i < most; ++i) handles.push_back(objects.emplace_back(type).handle_);
  const int64_t given = most > 0 ? get_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, handles.data()) : 0;
  objects.erase(objects.begin() + given, objects.end());
  return objects;
}

void Descriptor::set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                         const void* values) {
  check_dnn(cudnnBackendSetAttribute(handle_, name, type, count, values), "cudnnBackendSetAttribute");
}

int64_t Descriptor::get_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most,
                            void* values) const {
  int64_t there = 0;
  check_dnn(cudnnBackendGetAttribute(handle_, name, type, most, &there, values), "cudnnBackendGetAttribute");
  return most > 0 ? std::min(there, most) : there;
}

}  // namespace robusta::dnn
