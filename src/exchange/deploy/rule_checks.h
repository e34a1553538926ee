/// The checks of the table of rules, and what mends their findings (rules.h says what each has to hold to).
#pragma once

#include <optional>

#include "exchange/deploy/deploy_net.h"
#include "exchange/deploy/finding.h"

namespace robusta::deploy {

#define ROBUSTA_DEPLOY_CHECK(name) std::optional<Finding> check_##name(const DeployNet& net, int layer)
#define ROBUSTA_DEPLOY_RULE(name) \
  ROBUSTA_DEPLOY_CHECK(name);     \
  void mend_##name(DeployNet& net, int layer)

// rule_names.cpp
ROBUSTA_DEPLOY_RULE(one_name);
ROBUSTA_DEPLOY_RULE(last_layer);
// rule_windows.cpp
ROBUSTA_DEPLOY_RULE(equal_dilations);
ROBUSTA_DEPLOY_RULE(kernel_h_w);
ROBUSTA_DEPLOY_RULE(kernel_axes);
// rule_pooling.cpp
ROBUSTA_DEPLOY_RULE(floor_pooling);
ROBUSTA_DEPLOY_RULE(average_padding);
ROBUSTA_DEPLOY_RULE(padded_image);
ROBUSTA_DEPLOY_CHECK(average_both);
ROBUSTA_DEPLOY_CHECK(average_cut);
// rule_groups.cpp
ROBUSTA_DEPLOY_RULE(one_group);
// rule_fields.cpp
ROBUSTA_DEPLOY_RULE(known_fields);
ROBUSTA_DEPLOY_CHECK(known_types);
ROBUSTA_DEPLOY_RULE(ncnn_fields);
// rule_products.cpp
ROBUSTA_DEPLOY_RULE(global_stats);
ROBUSTA_DEPLOY_RULE(not_transposed);
ROBUSTA_DEPLOY_RULE(inner_axis);
ROBUSTA_DEPLOY_RULE(lrn_k);
ROBUSTA_DEPLOY_RULE(no_coeff);
ROBUSTA_DEPLOY_RULE(two_bottoms);
// rule_scales.cpp
ROBUSTA_DEPLOY_RULE(bias_scale);
ROBUSTA_DEPLOY_RULE(scale_alone);
ROBUSTA_DEPLOY_RULE(channel_scale);
ROBUSTA_DEPLOY_RULE(channel_slopes);
ROBUSTA_DEPLOY_RULE(gate_product);
ROBUSTA_DEPLOY_RULE(no_power);
// rule_functions.cpp
ROBUSTA_DEPLOY_RULE(lrn_fields);
ROBUSTA_DEPLOY_RULE(plain_log);
ROBUSTA_DEPLOY_RULE(plain_exp);
ROBUSTA_DEPLOY_RULE(no_clip);
ROBUSTA_DEPLOY_RULE(swish_beta);
ROBUSTA_DEPLOY_RULE(no_swish);
// rule_types.cpp
ROBUSTA_DEPLOY_RULE(opencv_types);
ROBUSTA_DEPLOY_RULE(mnn_types);
ROBUSTA_DEPLOY_RULE(ncnn_types);
ROBUSTA_DEPLOY_RULE(rknn_types);
ROBUSTA_DEPLOY_RULE(openvino_types);
ROBUSTA_DEPLOY_RULE(tpu_mlir_types);
// rule_crops.cpp
ROBUSTA_DEPLOY_RULE(crop_offset);
ROBUSTA_DEPLOY_RULE(crop_slices);
ROBUSTA_DEPLOY_CHECK(crop_input);
// rule_shapes.cpp
ROBUSTA_DEPLOY_RULE(counted_axes);
ROBUSTA_DEPLOY_RULE(tile_concat);
ROBUSTA_DEPLOY_RULE(no_split);
ROBUSTA_DEPLOY_RULE(whole_reshape);
ROBUSTA_DEPLOY_RULE(whole_flatten);
ROBUSTA_DEPLOY_RULE(said_reshape);
ROBUSTA_DEPLOY_RULE(slice_points);

#undef ROBUSTA_DEPLOY_RULE
#undef ROBUSTA_DEPLOY_CHECK

}  // namespace robusta::deploy
