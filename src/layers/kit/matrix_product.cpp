// The two libraries, and contests on matrices of ones.

#include "layers/kit/matrix_product.h"

#include <algorithm>
#include <vector>

#include "base/address_space.h"
#include "base/str.h"
#include "device/device.h"
#include "layers/kit/trial_memory.h"

namespace robusta {
namespace {

class Library : public ProductWay {
 public:
  Library(const char* name, GemmLibrary library) : name_(name), library_(library) {}
  std::string name() const override { return name_; }
  void run(const ProductShape& shape, const float* a, const float* b, bool add, float* c, void*) const override {
    gemm(shape.op_a, shape.op_b, shape.m, shape.n, shape.k, 1.0f, a, b, add ? 1.0f : 0.0f, c, library_);
  }

 private:
  const char* name_;
  GemmLibrary library_;
};

/// Below this a product takes some ten microseconds, whoever computes it.
constexpr int64_t kWorthTiming = int64_t{1} << 21;  // multiplications

/// Made by the first run of a contest: a choice that is known needs none. They lie as parameters and activations do,
/// for time depends on that: oneDNN takes half as long again where rows of 36 KiB begin at a page than 16 bytes later.
struct Matrices {
  Matrices() = default;
  Matrices(const ProductShape& shape, size_t scratch_bytes)
      : a(ones(shape.m * shape.k)),
        b(ones(shape.k * shape.n)),
        c(ones(shape.m * shape.n)),
        scratch(ones(static_cast<int64_t>(scratch_bytes / sizeof(float)) + 1)) {}

  static size_t bytes(const ProductShape& shape) {
    return static_cast<size_t>(shape.m * shape.k + shape.k * shape.n + shape.m * shape.n) * sizeof(float);
  }

  static float* floats(const DeviceBuffer& buffer) { return static_cast<float*>(buffer.data()); }
  static DeviceBuffer ones(int64_t elements) {
    DeviceBuffer buffer(cpu_device(), static_cast<size_t>(elements) * sizeof(float));
    std::fill_n(floats(buffer), elements, 1.0f);
    return buffer;
  }

  DeviceBuffer a, b, c, scratch;
};

}  // namespace

std::string ProductShape::key() const {
  const auto letter = [](Op op) { return op == Op::kPlain ? "n" : "t"; };
  return str(letter(op_a), letter(op_b), "/", m, "x", n, "x", k);
}

std::span<const ProductWay* const> product_libraries() {
  static const Library onednn("onednn", GemmLibrary::kOneDnn), blas("blas", GemmLibrary::kBlas);
  static const ProductWay* const all[] = {&onednn, &blas};
  return std::span(all).first(is_address_space_limited() ? 1 : 2);
}

const ProductWay& fastest_product(const std::string& key, const ProductShape& timed,
                                  std::span<const ProductWay* const> ways, Tuner* tuner) {
  if (!tuner || ways.size() < 2 || timed.m * timed.n * timed.k < kWorthTiming) return *ways[0];
  std::vector<std::string> names;
  size_t scratch_bytes = 0;
  for (const ProductWay* way : ways) {
    names.push_back(way->name());
    scratch_bytes = std::max(scratch_bytes, way->scratch_bytes(timed));
  }
  Matrices matrices;
  const auto run = [&](int option) {
    if (!matrices.c.data()) {
      require_room_for_trial(Matrices::bytes(timed));
      matrices = Matrices(timed, scratch_bytes);
    }
    ways[static_cast<size_t>(option)]->run(timed, matrices.floats(matrices.a), matrices.floats(matrices.b), false,
                                           matrices.floats(matrices.c), matrices.scratch.data());
  };
  const int chosen = chosen_or_first([&] { return tuner->choose(key, names, run); });
  return *ways[static_cast<size_t>(chosen)];
}

void LibraryProducts::expect(const ProductShape& shape) {
  constexpr int64_t kMostRows = 512;
  if (find(shape)) return;
  ProductShape timed = shape;
  int64_t& rows = shape.op_a == Op::kPlain ? timed.m : timed.k;
  rows = std::min(rows, kMostRows);
  choices_.push_back({shape, &fastest_product("sgemm/" + shape.key(), timed, product_libraries(), tuner_)});
}

const LibraryProducts::Choice* LibraryProducts::find(const ProductShape& shape) const {
  const auto found = std::ranges::find(choices_, shape, &Choice::shape);
  return found == choices_.end() ? nullptr : &*found;
}

void LibraryProducts::run(const ProductShape& shape, const float* a, const float* b, bool add, float* c) const {
  const Choice* choice = find(shape);
  (choice ? choice->way : product_libraries()[0])->run(shape, a, b, add, c, nullptr);
}

std::string LibraryProducts::describe() const {
  std::string text;
  for (const Choice& choice : choices_) text += (text.empty() ? "" : " / ") + choice.way->name();
  return text;
}

}  // namespace robusta
