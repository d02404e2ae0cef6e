// Repeated measurements of one thing: their mean, and how far it may be off.
#pragma once
#include <chrono>
#include <cstddef>
#include <vector>

class Timings {
 public:
  void add(double seconds) { seconds_.push_back(seconds); }
  size_t count() const { return seconds_.size(); }
  double mean() const;
  // Half the width of the 95 % interval of the mean, by Student's t; infinite for fewer than two measurements.
  double margin() const;
  double noise() const { return margin() / mean(); }  // its share of the mean

 private:
  std::vector<double> seconds_;
};

// A figure with the 95 % interval around it.
struct Interval {
  double value = 0, margin = 0;
  double low() const { return value > margin ? value - margin : 0; }
  double high() const { return value + margin; }
};
Interval operator+(const Interval& a, const Interval& b);  // of independent figures
Interval operator*(double times, const Interval& a);

// Whether `a` and `b` may be the same, or differ by less than a fifth.
bool no_material_difference(const Interval& a, const Interval& b);

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count(); }

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};
