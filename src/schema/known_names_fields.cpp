// Fields and values of enums, from the schemas of alexgkendall/caffe-segnet, TheLegendAli/DeepLab-Context,
// xmyqsh/deeplab-v2, hszhao/PSPNet, facebook/C3D, eric612/MobileNet-YOLO, gklz1982/caffe-yolov2, zhaoweicai/mscnn,
// daijifeng001/caffe-mnc, yjxiong/caffe, microsoft/caffe, happynear/caffe-windows, wy1iu/sphereface,
// wy1iu/LargeMargin_Softmax_Loss, ydwen/caffe-face, naibaf7/caffe, torrvision/caffe, ChWick/caffe, yalecyu/crnn.caffe,
// lmb-freiburg/flownet2, zhaoweicai/cascade-rcnn, soeaver/caffe-model, yuqj1991/caffe_train and
// foss-for-synopsys-dwc-arc-processors/synopsys-caffe.

#include "schema/known_names_of_forks.h"

namespace robusta {
namespace {

struct ForkFields {
  std::string_view message, whose, names;
};

constexpr ForkFields kForkFields[] = {
    {"AccuracyParameter", "caffe-windows", "min_is_better"},
    {"AnnotatedDataParameter", "yuqj1991's Caffe",
     "bbox_sampler crop_type data_anchor_sampler has_landmarks low_prob up_prob yoloformat"},
    {"ArgMaxParameter", "Synopsys", "min_first"},
    {"BatchNormParameter", "DeepLab, PSPNet, Synopsys", "update_global_stats"},
    {"BatchNormParameter", "caffe-windows", "disable_mean disable_variance"},
    {"BatchNormParameter", "naibaf7's Caffe", "fused_relu"},
    {"BiasParameter", "Synopsys",
     "bias_scale bias_zero_point input_scale input_zero_point output_scale output_zero_point "
     "quantize_method saturate"},
    {"ConcatParameter", "Synopsys",
     "input_scale input_zero_point output_scale output_zero_point quantize_method saturate"},
    {"ConvolutionParameter", "chuanqi305's SSD", "tf_pad"},
    {"ConvolutionParameter", "caffe-windows, Synopsys", "shape_offset"},
    {"ConvolutionParameter", "naibaf7's Caffe", "eltwise_param fuse_type relu_param"},
    {"ConvolutionParameter", "Synopsys",
     "dis_mode gen_mode input_scale input_zero_point output_scale output_zero_point "
     "per_channel_scale_output per_channel_scale_weight quantize_method saturate submanifold_sparse "
     "weight_fixed weight_scale weight_zero_point"},
    {"DataParameter", "C3D", "show_data"},
    {"DataParameter", "FlowNet 2, Synopsys",
     "block_size disk_reader_threads encoding huge_video_dataset limit_samples permute_every_iter "
     "preselection_file preselection_label rand_permute rand_permute_order rand_permute_seed range_end "
     "range_start slice_point subtract verbose"},
    {"DataParameter", "Synopsys", "random"},
    {"DetectionEvaluateParameter", "yuqj1991's Caffe", "has_lm"},
    {"DetectionOutputParameter", "yuqj1991's Caffe",
     "bias_scale class_type has_lm net_height net_width nms_thresh num_lpchinese num_lpenglish "
     "num_lpletter"},
    {"DetectionOutputParameter", "Synopsys",
     "arm_conf_no_concat arm_loc_no_concat max_classes_per_detection objectness_score ratio0 "
     "ratio1 ratio2 ratio3 ratio4 ratio5 ratio_permute scale_xywh tflite_detection tflite_use_regular_nms"},
    {"DistortionParameter", "Synopsys", "exposure_lower exposure_upper"},
    {"DropoutParameter", "caffe-windows", "sqrt_scale"},
    {"EltwiseParameter", "Synopsys",
     "axis input_scale input_zero_point output_scale output_zero_point quantize_method saturate"},
    {"FillerParameter", "caffe-windows", "alpha"},
    {"FillerParameter", "FlowNet 2, Synopsys", "diag_val"},
    {"ImageDataParameter", "caffe-windows",
     "balance_by balance_class face_mirror face_point_num face_transform label_cut_end label_cut_start "
     "max_random_scale max_random_shift max_rotate_angle max_shear_ratio min_random_scale"},
    {"ImageDataParameter", "caffe-windows, yuqj1991's Caffe", "max_aspect_ratio"},
    {"ImageDataParameter", "yuqj1991's Caffe",
     "higher label_num lower min_aspect_ratio pair_size probability sample_num"},
    {"InnerProductParameter", "Synopsys",
     "dis_mode gen_mode input_scale input_zero_point output_scale output_zero_point quantize_method "
     "saturate weight_fixed weight_scale weight_zero_point"},
    {"InputParameter", "Synopsys", "output_scale output_zero_point"},
    {"LRNParameter", "naibaf7's Caffe", "fuse_type pooling_param unit_test_fuse_kernel unit_test_mode"},
    {"LRNParameter", "Synopsys", "input_scale output_scale"},
    {"LayerParameter", "DeepLab",
     "censor_label_param channel_aggregator_param dominant_channel_param euclidean_loss_param "
     "gain_channel_param histogram_param ignore_overlay_param onehot_param"},
    {"LayerParameter", "DeepLab, PSPNet, Synopsys",
     "adaptive_bias_channel_param bias_channel_param dense_crf_param domain_transform_param mat_read_param "
     "unique_label_param"},
    {"LayerParameter", "C3D", "down_sampling_param"},
    {"LayerParameter", "Cascade R-CNN",
     "box_group_output_param detection_data_param detection_group_accuracy_param detection_group_loss_param "
     "eval_data_param frcnn_output_param hard_mining_param scale_route_param"},
    {"LayerParameter", "DenseNet's forks", "denseblock_param"},
    {"LayerParameter", "MobileNet-YOLO", "segmentation_evaluate_param yolo_seg_param"},
    {"LayerParameter", "yjxiong's Caffe", "batch_reduction_param color_conv_param seg_data_param"},
    {"LayerParameter", "Microsoft's Caffe, caffe-windows", "mil_data_param mil_param"},
    {"LayerParameter", "caffe-windows",
     "batch_contrastive_loss_param confidence_penalty_loss_param eltwise_affine_param fcn_data_param "
     "feature_decay_loss_param flip_param general_contrastive_loss_param general_triplet_loss_param "
     "hotspot_param infimum_loss_param inner_distance_param insanity_param local_param nca_param "
     "ordinal_regression_loss_param pairwise_param predict_box_param resize_param smoothl1_param "
     "soft_contrastive_loss_param soft_truncation_param sub_region_param truncation_param"},
    {"LayerParameter", "caffe-windows, naibaf7's Caffe", "noise_param"},
    {"LayerParameter", "naibaf7's Caffe",
     "autotune blobs_quantizer bottom_data_type bottom_quantizer bottom_shared_index compute_data_type "
     "device moe_param net_quantizer top_data_type top_quantizer top_shared_index"},
    {"LayerParameter", "FlowNet 2, Synopsys",
     "accum_param augmentation_param black_augmentation_param coeff_schedule_param correlation_param "
     "downsample_param flow_warp_param lpq_loss_param mean_param reader_param resample_param "
     "reshape_every_iter writer_param"},
    {"LayerParameter", "yuqj1991's Caffe",
     "center_object_loss_param combined_margin_param cosin_add_m_param cosin_loss_param "
     "cpm_transform_param face_evaluate_param lp_det_param lp_evaluate_param lstm_param metric_param "
     "multiface_loss_param rank_param receptive_box_param reid_data_param sample_triplet_param "
     "transpose_param use_ctc_loss warpctc_loss_param wighted_eltwise_param"},
    {"LayerParameter", "Synopsys",
     "attention_param batch_to_space_nd_param broadcast_to_param corr1d_param count_nonzero_param "
     "crop_and_resize_param embedding_lookup_param embedding_lookup_sparse_param "
     "expand_dims_nd_param gan_loss_param gather_nd_param gather_param gather_v2_param gemm_param "
     "hard_sigmoid_param layer_norm_param log_softmax_param lp_normalization_param "
     "maskrcnn_detection_param maskrcnn_proposal_param matmul_param mirror_pad_param nms_gather_param "
     "nms_param non_max_suppression_param not_equal_param one_hot_param piece_param point_net_param "
     "pyramid_roi_align_param range_param reduce_all_param reduce_any_param reduce_l1_param "
     "reduce_l2_param reduce_logsumexp_param reduce_max_param reduce_mean_param reduce_min_param "
     "reduce_prod_param reduce_sum_param reverse_sequence_param rnn_v2_param scaled_tanh_param "
     "scatter_nd_param selu_dropout_param selu_param space_to_batch_nd_param space_to_depth_param "
     "sparse_to_dense_param spatial_batching_pooling_param squeeze_convolution_param "
     "squeeze_inner_product_param stack_param strided_slice_param tensor2box_param thresholded_relu_param "
     "tile_nd_param topk_gather_param unstack_param where4_gathernd_crop_param where4_gathernd_param "
     "where4_param xlu_param yolo_v2_loss_param yolo_v3_loss_param"},
    {"LossParameter", "yuqj1991's Caffe", "gamma"},
    {"MVNParameter", "Synopsys", "add_eps_before_sqrt"},
    {"MemoryDataParameter", "caffe-windows", "transpose"},
    {"MultiBoxLossParameter", "yuqj1991's Caffe",
     "bbox_large_list bbox_small_list chineselp_loss_type englishlp_loss_type letter_lp_loss_type "
     "net_input_height net_input_width num_chinese num_english num_letter num_output_scales "
     "receptive_field_list use_center_locate_match use_tiny_box_match"},
    {"MultiBoxLossParameter", "Synopsys", "objectness_score"},
    {"NetParameter", "yjxiong's Caffe", "mem_param"},
    {"NetParameter", "naibaf7's Caffe", "autotune data_type quantizer reduced_memory_inference"},
    {"NetState", "naibaf7's Caffe", "quantizer_mode"},
    {"NoiseParameter", "caffe-windows", "bias gaussian_std uniform_range"},
    {"NoiseParameter", "naibaf7's Caffe", "mu sigma"},
    {"NormalizeParameter", "Synopsys", "add_eps_before_sqrt"},
    {"ParamSpec", "yuqj1991's Caffe", "momentum_mult"},
    {"ParameterParameter", "caffe-windows", "blob_filler"},
    {"PoolingParameter", "caffe-windows", "blobs_a_min blobs_lr"},
    {"PoolingParameter", "Synopsys",
     "input_scale input_zero_point output_scale output_shift_instead_division output_zero_point "
     "quantize_method saturate"},
    {"PowerParameter", "Synopsys", "quantize_method saturate"},
    {"PriorBoxParameter", "chuanqi305's SSD", "reduce_boxes"},
    {"PriorBoxParameter", "yuqj1991's Caffe", "anchor default_ratio default_size density fixed_ratio fixed_size"},
    {"PriorBoxParameter", "Synopsys", "box_height box_width faceboxes keras"},
    {"QuantizationParameter", "caffe-yolov2", "exp_bits exp_max exp_min mant_bits"},
    {"ReLUParameter", "Synopsys",
     "input_scale input_zero_point maximum minimum output_scale output_zero_point saturate"},
    {"RecurrentParameter", "Synopsys",
     "activation_alpha activation_beta activations continue_recur default_initial direction "
     "linear_before_reset tf_rnn"},
    {"ReductionParameter", "yjxiong's Caffe", "k"},
    {"ResizeBilinearParameter", "Synopsys",
     "input_scale input_zero_point output_scale output_zero_point quantize_method saturate"},
    {"ResizeParameter", "caffe-windows", "is_pyramid_test out_height_scale out_width_scale"},
    {"ResizeParameter", "Synopsys", "jitter"},
    {"ScaleParameter", "caffe-windows, yuqj1991's Caffe", "max_value min_value"},
    {"ScaleParameter", "Synopsys", "dis_mode gen_mode"},
    {"SigmoidParameter", "Synopsys", "input_scale input_zero_point output_scale output_zero_point saturate"},
    {"SmoothL1LossParameter", "Synopsys", "abssum"},
    {"SoftmaxParameter", "caffe-windows",
     "class_weight cutting_point hard_mining_label hard_ratio label_smooth_factor normalize_type"},
    {"SoftmaxParameter", "Synopsys", "input_scale input_zero_point output_scale output_zero_point saturate"},
    {"SolverParameter", "yjxiong's Caffe", "group_id richness"},
    {"SolverParameter", "caffe-windows", "clamp_weights_lower clamp_weights_upper clip_weights"},
    {"SolverParameter", "naibaf7's Caffe", "data_type device"},
    {"SolverParameter", "Synopsys", "gan_solver"},
    {"TransformationParameter", "caffe-windows", "aspect_max aspect_min center_crop erase_ratio scale_max scale_min"},
    {"TransformationParameter", "yuqj1991's Caffe", "resize_param_yolo rotate_param"},
    {"TransformationParameter", "Synopsys", "caffe_yolo"},
    {"TripletLossParameter", "yuqj1991's Caffe", "eps"},
    {"V1LayerParameter", "CRF-RNN", "multi_stage_meanfield_param"},
    {"V1LayerParameter", "caffe-yolov2", "detection_loss_param eval_detection_param"},
    {"V1LayerParameter", "caffe-windows",
     "eltwise_affine_param insanity_param local_param noise_param sub_region_param triplet_loss_param"},
    {"V1LayerParameter", "naibaf7's Caffe", "affinity_param"},
    {"V1LayerParameter", "Synopsys", "yolo_v2_loss_param yolo_v3_loss_param"},
};

struct ForkValues {
  std::string_view whose, values;
};

constexpr ForkValues kForkValues[] = {
    {"caffe-yolov2", "INTEGER_POWER_OF_2_WEIGHTS MINIFLOAT STOCHASTIC"},
    {"yjxiong's Caffe", "STOCHASTIC_SUM TOPK"},
    {"caffe-windows", "DEF DEF_ALL DEF_ALL2 DEF_ALL3 DEF_ALL4 LOWRES SORT"},
    {"naibaf7's Caffe", "FFT INTEL_SPATIAL LIBDNN"},
    {"yuqj1991's Caffe", "CORNNER_CENTER FOCALSOFTMAX RECEPTIVE_CENTER"},
    {"Synopsys", "DIV MIN"},
};

}  // namespace

std::optional<std::string_view> fork_of_field(std::string_view message, std::string_view name) {
  for (const ForkFields& row : kForkFields) {
    if ((message.empty() || message == row.message) && is_listed(row.names, name)) return row.whose;
  }
  return std::nullopt;
}

std::optional<std::string_view> fork_of_value(std::string_view value) {
  for (const ForkValues& row : kForkValues) {
    if (is_listed(row.values, value)) return row.whose;
  }
  return std::nullopt;
}

}  // namespace robusta
