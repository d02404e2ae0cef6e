// Repeated measurements of one quantity: the mean and its uncertainty.
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
  double noise() const { return margin() / mean(); }  // relative to the mean

 private:
  std::vector<double> seconds_;
};

// A figure with its 95 % interval.
struct Interval {
  double value = 0, margin = 0;
  double low() const { return value > margin ? value - margin : 0; }
  double high() const { return value + margin; }
};
Interval operator+(const Interval& a, const Interval& b);  // of independent figures
Interval operator*(double times, const Interval& a);

// Whether `a` and `b` differ by less than a fifth, or cannot be distinguished.
bool no_material_difference(const Interval& a, const Interval& b);

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count(); }

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};
