/// A kernel of a plugin as the engine sees it: plain layouts, one element type, views made once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layers/kit/kernel.h"
#include "robusta/layer.h"

namespace robusta::v1 {

class PluginKernel : public robusta::Kernel {
 public:
  PluginKernel(const robusta::KernelRequest& request, std::shared_ptr<v1::Kernel> kernel, std::string name);

  std::string describe() const override { return name_; }
  void forward(const KernelRun& run) override;
  void backward(const KernelRun& run) override;

 private:
  void book(const Needs& needs, const robusta::KernelRequest& request);
  KernelCall call(const KernelRun& run);
  void clear_gradients(const KernelRun& run);

  std::shared_ptr<v1::Kernel> kernel_;
  std::string name_;
  std::vector<TensorView> bottoms_, tops_, bottom_gradients_, top_gradients_, parameters_, parameter_gradients_;
  std::vector<bool> learns_;  ///< per parameter
};

}  // namespace robusta::v1
