// All ranks of a pipeline go through what crosses in one order, so that they agree on it pair by pair.
#include <algorithm>
#include <map>
#include <utility>

#include "base/str.h"
#include "solver/pipeline/ranks/rank_pipeline.h"

namespace robusta {
namespace {

constexpr int kPlacesOfReceiver = 2;  // one is filled while the other is read

}  // namespace

/// Communicators of two ranks, of the messages that go one way.
struct RankPipeline::Roads {
  Communicator& line;
  std::map<std::pair<int, int>, std::shared_ptr<Communicator>> all;  ///< by sender and receiver, as stages

  /// Collective over the pipeline.
  std::shared_ptr<Communicator>& between(int from, int to) {
    std::shared_ptr<Communicator>& road = all[{from, to}];
    if (road) return road;
    const bool mine = line.rank() == from || line.rank() == to;
    road = line.split(mine ? 0 : 1 + line.rank(), line.rank());
    return road;
  }
};

namespace {

/// Blobs by the way they go, in the order in which they are added.
class Freights {
 public:
  void add(const std::shared_ptr<Communicator>& road, bool out, const std::shared_ptr<PipelineSignal>& signal,
           const std::shared_ptr<StageChannel>& blob) {
    for (Freight& freight : all_) {
      if (freight.road == road) return freight.blobs.push_back(blob);
    }
    all_.push_back({.road = road, .peer = 1 - road->rank(), .out = out, .signal = signal, .blobs = {blob}});
  }
  std::vector<std::unique_ptr<Courier>> couriers() const {
    std::vector<std::unique_ptr<Courier>> made;
    for (const Freight& freight : all_) made.push_back(std::make_unique<Courier>(freight));
    return made;
  }

 private:
  std::vector<Freight> all_;
};

}  // namespace

RankPipeline::RankPipeline(Ranks& ranks, PipelineOrder order, int micro_batches, const WholeNet& train,
                           const std::vector<WholeNet>& tests, CutNets cut, Net& own, const NetOptions& test_options)
    : ranks_(ranks),
      order_(order),
      micro_batches_(micro_batches),
      number_(static_cast<size_t>(ranks.stage())),
      whole_(train.net),
      own_(own),
      cut_(std::move(cut)),
      places_(param_places(train.net, cut_.train.placement, static_cast<size_t>(ranks.stages()))),
      outputs_(outputs_of(cut_.train, train.net)),
      shape_{
          .order = order, .micro_batches = micro_batches, .batch = train.net.batch(), .pipelines = ranks.learners()} {
  ranks_.together([&] {
    const int copies = passes_in_flight(order_, ranks_.stage(), ranks_.stages(), micro_batches_);
    stage_.build(cut_.train.pieces.nets[number_], own, copies);
    for (const CutNet& test : cut_.tests) {
      NetOptions options = test_options;
      options.fixed_sources = test.pieces.inputs[number_];
      stage_.add_test(test.pieces.nets[number_], options);
    }
  });
  for (size_t t = 0; t < tests.size(); ++t) test_outputs_.push_back(outputs_of(cut_.tests[t], tests[t].net));
  Roads roads{.line = ranks_.line(), .all = {}};
  connect_train(roads);
  for (size_t t = 0; t < tests.size(); ++t) connect_test(t, roads);
  gather_facts();
}

std::vector<RankPipeline::Output> RankPipeline::outputs_of(const CutNet& cut, const Net& whole) {
  std::map<std::string, const BlobVersion*> newest;
  for (const BlobVersion& version : whole.graph().versions) newest[version.name] = &version;
  std::vector<Output> outputs;
  for (size_t s = 0; s < cut.pieces.outputs.size(); ++s) {
    for (const std::string& name : cut.pieces.outputs[s]) {
      const BlobVersion& blob = *newest.at(name);
      outputs.push_back({name, s, static_cast<size_t>(blob.shape.count()), blob.loss_weight});
    }
  }
  std::ranges::sort(outputs, {}, &Output::name);
  return outputs;
}

std::shared_ptr<StageChannel> RankPipeline::add_channel(const TensorDesc& desc, int places) {
  return channels_.emplace_back(std::make_shared<StageChannel>(*signal_, *whole_.options().device, desc, places));
}

/// As what a blob travels: one of the two ends tells the other, which may keep it as another type.
DType RankPipeline::agreed_type(const Crossing& crossing, int teller, const std::function<DType()>& told) {
  const int mine = static_cast<int>(number_), other = crossing.from == mine ? crossing.to : crossing.from;
  DType type{};
  if (mine == teller) {
    type = told();
    ranks_.line().exchange(&type, sizeof type, other, nullptr, 0, -1);
  } else {
    ranks_.line().exchange(nullptr, 0, -1, &type, sizeof type, other);
  }
  return type;
}

void RankPipeline::connect_train(Roads& roads) {
  Freights there, back;
  const int mine = static_cast<int>(number_);
  for (const Crossing& crossing : cut_.train.pieces.crossings) {
    const std::shared_ptr<Communicator>& road = roads.between(crossing.from, crossing.to);
    std::shared_ptr<Communicator> way_back;
    if (crossing.gradient) way_back = roads.between(crossing.to, crossing.from);
    const bool sends = crossing.from == mine;
    if (!sends && crossing.to != mine) continue;
    const auto type_of = [&](Travels what) { return array_of(stage_.net(), crossing.blob, what).desc.dtype; };
    // As many places as the sender has copies, on its side: what it runs forward meanwhile is never more.
    const int copies = passes_in_flight(order_, crossing.from, ranks_.stages(), micro_batches_);
    const int places = sends ? copies : std::min(copies, kPlacesOfReceiver);
    const DType content = agreed_type(crossing, crossing.to, [&] { return type_of(Travels::kContent); });
    const auto blob = add_channel({crossing.shape, content, nullptr}, places);
    there.add(road, sends, signal_, blob);
    for (StageNet& copy : stage_.all_copies()) {
      StageNet::Ports& ports = copy.forward_ports();
      if (sends) ports.out.emplace_back(copy.net(), crossing.blob, Travels::kContent, *blob);
      if (!sends) ports.in.emplace_back(copy.net(), crossing.blob, Travels::kContent, *blob);
    }
    if (!crossing.gradient) continue;
    const DType type = agreed_type(crossing, crossing.from, [&] { return type_of(Travels::kGradient); });
    const auto gradient =
        add_channel({crossing.shape, type, nullptr}, sends ? std::min(copies, kPlacesOfReceiver) : copies);
    back.add(way_back, !sends, signal_, gradient);
    for (StageNet& copy : stage_.all_copies()) {
      StageNet::Ports& ports = copy.backward_ports();
      if (sends) ports.in.emplace_back(copy.net(), crossing.blob, Travels::kGradient, *gradient);
      if (!sends) ports.out.emplace_back(copy.net(), crossing.blob, Travels::kGradient, *gradient);
    }
  }
  for (StageNet& copy : stage_.all_copies()) copy.wait_as_one_of(ranks_);
  forward_ = there.couriers();
  backward_ = back.couriers();
}

void RankPipeline::connect_test(size_t net, Roads& roads) {
  Freights there;
  const int mine = static_cast<int>(number_);
  StageNet* const own = stage_.test(net);
  for (const Crossing& crossing : cut_.tests[net].pieces.crossings) {
    const std::shared_ptr<Communicator>& road = roads.between(crossing.from, crossing.to);
    const bool sends = crossing.from == mine;
    if (!sends && crossing.to != mine) continue;
    const DType type = agreed_type(crossing, crossing.to,
                                   [&] { return array_of(own->net(), crossing.blob, Travels::kContent).desc.dtype; });
    const auto blob = add_channel({crossing.shape, type, nullptr}, 1);
    there.add(road, sends, signal_, blob);
    StageNet::Ports& ports = own->forward_ports();
    if (sends) ports.out.emplace_back(own->net(), crossing.blob, Travels::kContent, *blob);
    if (!sends) ports.in.emplace_back(own->net(), crossing.blob, Travels::kContent, *blob);
  }
  if (own) own->wait_as_one_of(ranks_);
  tests_.push_back(there.couriers());
}

/// "rank 1 on node2", "ranks 2, 3"
StageFacts RankPipeline::facts_of(size_t stage) const {
  const StagePlaces& places = ranks_.places();
  StageFacts facts{.place = places.pipelines() > 1 ? "ranks" : "rank", .layers = layers_of(cut_.train.pieces, stage)};
  for (int p = 0; p < places.pipelines(); ++p) {
    facts.place += str(p > 0 ? ", " : " ", places.rank_of(static_cast<int>(stage), p));
  }
  if (places.pipelines() == 1) {
    facts.place += " on " + ranks_.topology().host_of(places.rank_of(static_cast<int>(stage), 0));
  }
  return facts;
}

void RankPipeline::gather_facts() {
  const StageWork work = stage_.predicted_work();
  const auto all = gather({work.forward, work.backward, static_cast<double>(elements_of(stage_.net())),
                           static_cast<double>(stage_.copies())});
  for (size_t s = 0; s < all.size(); ++s) {
    StageFacts& facts = facts_.emplace_back(facts_of(s));
    facts.work = {all[s][0], all[s][1]};
    facts.parameters = static_cast<int64_t>(all[s][2]);
    facts.copies = static_cast<int>(all[s][3]);
  }
}

}  // namespace robusta
