/// Ways to compute InnerProduct's products in f32: those of the libraries and our own for few rows, and the choice
/// among them.
#pragma once

#include "layers/types/inner_product/inner_product_products.h"

namespace robusta {

/// What is timed for a size: some of many rows, with which the time goes, and a part of the outputs whose weights no
/// cache holds. The whole of VGG-16's fc6 would be 400 MB.
InnerProductSize timed_part(InnerProductSize size);

/// As fastest_product(), for one of the three products.
const ProductWay& fastest_way(const InnerProductSize& size, InnerProductStep step, Tuner* tuner);

}  // namespace robusta
