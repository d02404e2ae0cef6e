// Progress on standard error: on a terminal a bar redrawn in place, in a log a line every few seconds.
#pragma once
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "tessera/tessera.h"

class ProgressPrinter {
 public:
  enum class Style { none, bar, lines };
  // The style for standard error: none if quiet, a bar on a terminal, else lines.
  static Style style_for_stderr(bool quiet);

  // `print` writes text, `clock` returns seconds, `columns` the width of the terminal; tests inject their own.
  ProgressPrinter(Style style, std::function<void(const std::string&)> print, std::function<double()> clock,
                  std::function<int()> columns);
  explicit ProgressPrinter(Style style);

  void ignore(const std::string& phase) { ignored_.insert(phase); }  // a phase that runs inside another one
  void update(const tessera_progress& event);
  // a line beside the bars: "saved   adult.tessera  4.3 MB"
  void line(const std::string& label, const std::string& text);
  // the same above the bar of the current phase, which continues
  void aside(const std::string& label, const std::string& text);
  // clears an unfinished bar, before anything else is written
  void clear();
  // A sign of life, if nothing was written for some seconds: work between two phases, or between two events of one.
  // Called again and again, from a thread of its own.
  void beat();

  static void callback(const tessera_progress* event, void* printer) {
    static_cast<ProgressPrinter*>(printer)->update(*event);
  }

 private:
  void write(const std::string& text);
  void finish();
  std::string amount(const tessera_progress& event) const;
  // Since the phase's first event: a run resumed from a checkpoint begins in the middle.
  struct Pace {
    double done, seconds;
  };
  Pace pace(const tessera_progress& event, double now) const;
  std::string bar_line(const tessera_progress& event, const Pace& pace) const;

  Style style_;
  std::function<void(const std::string&)> print_;
  std::function<double()> clock_;
  std::function<int()> columns_;
  std::set<std::string> ignored_;
  std::string phase_;  // the current phase; empty: none
  std::string last_;   // the text of its final line
  double started_;     // the end of the previous phase: time before the first event counts for the new phase
  Pace first_{0, 0};   // the phase's first event: progress and time
  double drawn_ = 0;
  bool bar_shown_ = false;
  std::recursive_mutex mutex_;
  std::string ended_;                 // the last phase that ended
  double written_ = 0, silence_ = 0;  // when something was written; seconds until the next sign of life
};
