#include "render.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/philox.h"
#include "glyphs.h"

namespace robusta::digits {
namespace {

constexpr int kPixels = kSize * kSize;
using Canvas = std::array<double, kPixels>;

double between(PhiloxStream& random, double low, double high) { return low + (high - low) * random.uniform(); }

/// About normal with this standard deviation, never beyond 3 of them (sum of four uniforms).
double bell(PhiloxStream& random, double deviation) {
  double sum = -2;
  for (int i = 0; i < 4; ++i) sum += random.uniform();
  return sum * 1.7320508075688772 * deviation;
}

/// Points of the Catmull-Rom curve through the control points; neighbours are less than a pixel apart once drawn.
std::vector<Point> curve_through(const Stroke& stroke) {
  constexpr int kSteps = 8;
  const auto at = [&](size_t i) { return stroke[std::min(i, stroke.size() - 1)]; };
  std::vector<Point> points;
  for (size_t i = 0; i + 1 < stroke.size(); ++i) {
    const Point a = at(i == 0 ? 0 : i - 1), b = at(i), c = at(i + 1), d = at(i + 2);
    const auto blend = [](double a, double b, double c, double d, double t) {
      return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
    };
    for (int k = 0; k < kSteps; ++k) {
      const double t = static_cast<double>(k) / kSteps;
      points.push_back({blend(a.x, b.x, c.x, d.x, t), blend(a.y, b.y, c.y, d.y, t)});
    }
  }
  points.push_back(stroke.back());
  return points;
}

/// Displacements on a 4x4 grid over the glyph, interpolated smoothly: the unsteady hand.
class Wobble {
 public:
  Wobble(PhiloxStream& random, double deviation) {
    for (Point& p : grid_) p = {bell(random, deviation), bell(random, deviation)};
  }

  Point operator()(Point p) const {
    const auto cell = [](double v, int& low) {
      const double scaled = std::clamp(v, 0.0, 1.0) * 3;
      low = std::min(static_cast<int>(scaled), 2);
      const double t = scaled - low;
      return t * t * (3 - 2 * t);
    };
    int i, j;
    const double u = cell(p.x, i), v = cell(p.y, j);
    const auto mix = [&](auto member) {
      const auto g = [&](int row, int column) { return grid_[static_cast<size_t>(4 * row + column)].*member; };
      const double top = g(j, i) * (1 - u) + g(j, i + 1) * u, low = g(j + 1, i) * (1 - u) + g(j + 1, i + 1) * u;
      return top * (1 - v) + low * v;
    };
    return {p.x + mix(&Point::x), p.y + mix(&Point::y)};
  }

 private:
  std::array<Point, 16> grid_;
};

/// From the glyph's unit box to pixels: size, slant, rotation, perspective, place.
class Placement {
 public:
  explicit Placement(PhiloxStream& random)
      : width_(between(random, 11, 19)),
        height_(between(random, 16, 22)),
        slant_(bell(random, 0.2)),
        tilt_x_(bell(random, 0.12)),
        tilt_y_(bell(random, 0.12)),
        shift_{bell(random, 1.0), bell(random, 1.0)} {
    // (1-t^2, 2t)/(1+t^2) is a rotation for every t = tan(angle/2), without sine and cosine.
    const double t = bell(random, 0.06);
    cosine_ = (1 - t * t) / (1 + t * t);
    sine_ = 2 * t / (1 + t * t);
  }

  Point operator()(Point p) const {
    const double u = p.x - 0.5, v = p.y - 0.5;
    const double depth = 1 + tilt_x_ * u + tilt_y_ * v;
    const double x = (u * width_ - slant_ * v * height_) / depth, y = v * height_ / depth;
    constexpr double kCentre = (kSize - 1) / 2.0;
    return {kCentre + shift_.x + cosine_ * x - sine_ * y, kCentre + shift_.y + sine_ * x + cosine_ * y};
  }

 private:
  double width_, height_, slant_, tilt_x_, tilt_y_, cosine_, sine_;
  Point shift_;
};

double distance(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy;
  const double t = length2 > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length2, 0.0, 1.0) : 0;
  const double ex = p.x - a.x - t * dx, ey = p.y - a.y - t * dy;
  return std::sqrt(ex * ex + ey * ey);
}

/// Draws a line of this radius with an edge one pixel soft.
void draw_line(Canvas& canvas, Point a, Point b, double radius) {
  const auto low = [&](double p, double q) { return std::max(0, static_cast<int>(std::min(p, q) - radius - 1)); };
  const auto high = [&](double p, double q) {
    return std::min(kSize - 1, static_cast<int>(std::max(p, q) + radius + 2));
  };
  for (int y = low(a.y, b.y); y <= high(a.y, b.y); ++y) {
    for (int x = low(a.x, b.x); x <= high(a.x, b.x); ++x) {
      const double edge = radius + 0.5 - distance({static_cast<double>(x), static_cast<double>(y)}, a, b);
      double& pixel = canvas[static_cast<size_t>(y * kSize + x)];
      pixel = std::max(pixel, std::clamp(edge, 0.0, 1.0));
    }
  }
}

void draw_stroke(Canvas& canvas, const std::vector<Point>& points, double start, double end) {
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(points.size());
    draw_line(canvas, points[i], points[i + 1], start + (end - start) * t);
  }
}

/// One pass of (s, 1-2s, s) along rows and columns.
void blur(Canvas& canvas, double s) {
  for (const int step : {1, kSize}) {
    const Canvas before = canvas;
    for (int i = 0; i < kPixels; ++i) {
      const int along = step == 1 ? i % kSize : i / kSize;
      const double left = along > 0 ? before[static_cast<size_t>(i - step)] : 0;
      const double right = along < kSize - 1 ? before[static_cast<size_t>(i + step)] : 0;
      canvas[static_cast<size_t>(i)] = s * (left + right) + (1 - 2 * s) * before[static_cast<size_t>(i)];
    }
  }
}

/// A dash that belongs to no digit, near the border of the image.
void draw_stray_dash(Canvas& canvas, PhiloxStream& random) {
  const double along = between(random, 0, kSize - 1), across = random.uniform() < 0.5 ? 1 : kSize - 2;
  const bool upright = random.uniform() < 0.5;
  const Point a = upright ? Point{across, along} : Point{along, across};
  const Point b{a.x + between(random, -4, 4), a.y + between(random, -4, 4)};
  draw_line(canvas, a, b, between(random, 0.2, 0.8));
}

}  // namespace

Image make_image(uint64_t seed, std::string_view set, uint64_t index) {
  PhiloxStream random(random_key(seed, set, "digits"), index);
  Image image;
  image.label = static_cast<uint8_t>(random.below(10));
  const std::vector<Glyph>& ways = ways_to_write(image.label);
  Glyph glyph = ways[random.below(ways.size())];

  const Placement place(random);
  const Wobble wobble(random, 0.045);
  const double radius = between(random, 0.5, 1.9);
  Canvas canvas{};
  for (Stroke& stroke : glyph) {
    for (Point& p : stroke) p = {p.x + bell(random, 0.03), p.y + bell(random, 0.03)};
    std::vector<Point> points = curve_through(stroke);
    for (Point& p : points) p = place(wobble(p));
    // One after the other: compilers differ in which of two arguments they compute first.
    const double end = radius * between(random, 0.7, 1.3), start = radius * between(random, 0.7, 1.3);
    draw_stroke(canvas, points, start, end);
  }
  if (random.uniform() < 0.15) draw_stray_dash(canvas, random);
  blur(canvas, between(random, 0.02, 0.22));

  const double ink = between(random, 0.65, 1), grain = between(random, 0, 0.12);
  for (size_t i = 0; i < canvas.size(); ++i) {
    const double value = ink * canvas[i] + bell(random, grain);
    image.pixels[i] = static_cast<uint8_t>(std::clamp(value, 0.0, 1.0) * 255 + 0.5);
  }
  return image;
}

}  // namespace robusta::digits
