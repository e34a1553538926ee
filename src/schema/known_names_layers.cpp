// Layer types, from the registries and schemas of alexgkendall/caffe-segnet, TheLegendAli/DeepLab-Context,
// xmyqsh/deeplab-v2, hszhao/PSPNet, facebook/C3D, eric612/MobileNet-YOLO, gklz1982/caffe-yolov2, zhaoweicai/mscnn,
// daijifeng001/caffe-mnc, yjxiong/caffe, microsoft/caffe, happynear/caffe-windows, wy1iu/sphereface,
// wy1iu/LargeMargin_Softmax_Loss, ydwen/caffe-face, naibaf7/caffe, torrvision/caffe, ChWick/caffe, yalecyu/crnn.caffe,
// lmb-freiburg/flownet2, zhaoweicai/cascade-rcnn, soeaver/caffe-model, yuqj1991/caffe_train and
// foss-for-synopsys-dwc-arc-processors/synopsys-caffe.

#include <algorithm>
#include <iterator>

#include "schema/known_names_of_forks.h"

namespace robusta {
namespace {

struct ForkLayers {
  std::string_view whose, types;
};

constexpr ForkLayers kForkLayers[] = {
    {"DeepLab", "Padding"},
    {"DeepLab, PSPNet, Synopsys",
     "AdaptiveBiasChannel BiasChannel DenseCRF DomainTransform DomainTransformForwardOnly MatRead MatWrite "
     "SegAccuracy SpatialProduct UniqueLabel"},
    {"C3D", "BlackHole L2Normalize"},
    {"Cascade R-CNN",
     "BoxGroupOutput DetectionData DetectionGroupAccuracy DetectionGroupLoss EvalData FrcnnOutput HardMining "
     "ScaleRoute"},
    {"DenseNet's forks", "DenseBlock"},
    {"MobileNet-YOLO", "AssistedExcitation GaussianYolov3 LaneData SegmentationEvaluate YoloSeg"},
    {"caffe-yolov2", "ConvolutionRistretto DeconvolutionRistretto FcRistretto LRNRistretto"},
    {"mscnn, Synopsys", "ROIAlign"},
    {"yjxiong's Caffe", "BatchReduction Scatter SegData SyncBN"},
    {"yjxiong's Caffe, Synopsys", "Gather"},
    {"caffe-windows",
     "Arccos BatchContrastiveLoss ConfidencePenaltyLoss CorrelationLoss Cosine FCNAccuracy Flip FocalLoss "
     "GeneralContrastiveLoss GeneralTripletLoss GlobalLSEMargin Gram Hotspot InnerDistance Insanity "
     "LabelSpecificAdd LabelSpecificAffine LabelSpecificHardMargin LabelSpecificMargin LabelSpecificRescale "
     "Local MovingNormalize MultiLabelImageData NCALoss Pairwise PredictBox Resize Slope "
     "SoftContrastiveLoss SoftTruncation SubRegion Transformer TripletLoss Truncation"},
    {"caffe-windows, L-Softmax", "LargeMarginInnerProduct"},
    {"caffe-windows, SphereFace", "MarginInnerProduct"},
    {"caffe-windows, naibaf7's Caffe", "Noise"},
    {"caffe-windows, caffe-face, yuqj1991's Caffe", "CenterLoss"},
    {"naibaf7's Caffe", "DataRandTransform LibDNNConvolution LibDNNPooling MOE Quantizer"},
    {"the CTC forks", "CTCLoss ReverseTime WarpCTCLoss"},
    {"the CTC forks, Synopsys", "Reverse"},
    {"the CTC forks, yuqj1991's Caffe", "CTCGreedyDecoder"},
    {"FlowNet 2", "CustomData DisparityData ImgReader ImgWriter NegReLU PFMWriter"},
    {"FlowNet 2, Synopsys",
     "Accum BlackAugmentation ChannelNorm Correlation Correlation1D DataAugmentation Downsample "
     "FloatReader FloatWriter FlowAugmentation FLOWriter FlowWarp GenerateAugmentationParameters LpqLoss "
     "Mean Resample"},
    {"yuqj1991's Caffe",
     "AttentionScale BatchNormScale ccpdData CenterGridLoss CenterGridOutput CenternetDetectionOutput "
     "CenterNetfocalSigmoidWithLoss CenterObjectLoss CenterObjectSingleLoss ChannelNormalize CosinAddm "
     "CosinL2Normalize CPMData DetectionCcpdOutput Euclidean faceAttributeData FaceAttriEvaluate "
     "FocalCrossEntropyLoss focalSoftmaxWithLoss Identity2Verify LpEvaluate Lstm MultiBoxSSDLoss Norm "
     "PairEuclidean pairfaceEvaluate PairReidLabel RankHardLoss ReidData SampleTriplet SimpleNormalize "
     "Transpose Yolov3Detection Yolov3Loss YoloAnnotatedData"},
    {"soeaver's Caffe", "SeLu SeLuDropout"},
    {"Synopsys",
     "Add Atan Attention BatchToSpaceND BEGANLoss BroadcastTo Ceil Corr1d CountNonzero CropAndResize "
     "DepthToSpace Div EmbeddingLookup EmbeddingLookupSparse ExpandDimsND FarthestPointSample Floor "
     "FloorDiv FloorMod GANLoss GatherND GatherV2 Gemm GroupPoint GRU HardSigmoid HardTanH ICNetSubgraph "
     "LayerNorm LogSoftmax LpNormalization LSTMV2 LuongAttention MaskRCNNDetection MaskRCNNProposal MatMul "
     "Maximum Minimum MirrorPad Mish NMS NMSGather NonMaxSuppression NotEqual OneHot PeepholeLSTM Piece "
     "Pow PyramidROIAlign QueryBallPoint Range ReduceAll ReduceAny ReduceL1 ReduceL2 ReduceLogSumExp "
     "ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReverseSequence RNNv2 Round ScaledTanH ScatterND "
     "SeLU SeLUDropout Shape SimpleRNN Sin Softplus Softsign SpaceToBatchND SpaceToDepth SparseToDense "
     "SpatialBatchingPooling SqueezeConvolution SqueezeDeconvolution SqueezeInnerProduct SSDDecoder "
     "SSDSort Stack StridedSlice Sub Tensor2Box ThreeInterpolate ThreeNN ThresholdedReLU TileND TopkGather "
     "Unstack Where4 Where4Gathernd Where4GatherndCrop XLU YoloV2Loss YoloV3Loss"},
    {"the steganalysis forks", "DctrQT"},
};

constexpr ForkLayers kForkOldLayers[] = {
    {"DeepLab",
     "ADAPTIVE_BIAS_CHANNEL BIAS_CHANNEL CENSOR_LABEL CHANNEL_AGGREGATOR DENSE_CRF DOMINANT_CHANNEL "
     "GAIN_CHANNEL HISTOGRAM IGNORE_OVERLAY MAT_READ ONEHOT RELATIVE_ERROR UNIQUE_LABEL"},
    {"C3D",
     "DOWN_SAMPLING ELTWISE_PRODUCT VIDEO_SEGMENTATION_DATA VIDEO_WITH_VOXEL_TRUTH_DATA VOLUME_DATA "
     "VOXEL_CUSTOM_LOSS VOXEL_SOFTMAX VOXEL_SOFTMAX_LOSS"},
    {"caffe-windows", "ELTWISE_AFFINE INSANITY LOCAL TRIPLET_LOSS"},
    {"CRF-RNN", "MULTI_STAGE_MEANFIELD"},
};

template <typename Table>
std::optional<std::string_view> owner_of_type(const Table& table, std::string_view type) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [&](const ForkLayers& row) { return is_listed(row.types, type); });
  if (found == std::end(table)) return std::nullopt;
  return found->whose;
}

}  // namespace

bool is_listed(std::string_view names, std::string_view name) {
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find(' ', begin), names.size());
    if (names.substr(begin, end - begin) == name) return true;
    begin = end + 1;
  }
  return false;
}

std::optional<std::string_view> fork_of_layer(std::string_view type) { return owner_of_type(kForkLayers, type); }
std::optional<std::string_view> fork_of_old_layer(std::string_view type) { return owner_of_type(kForkOldLayers, type); }

}  // namespace robusta
