// Sampling as a pipeline of two stages: a thread generates the next rows while the caller encodes and writes the
// previous ones. Rows and their order are those of the plain stream; the time is that of the slower stage.
#pragma once
#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/monitor.h"
#include "base/threads/team.h"
#include "models/sampling/row_stream.h"

namespace tessera {

class RowsAhead : public RowStream {
 public:
  using Open = std::function<std::unique_ptr<RowStream>(const Monitor&)>;
  // `open` receives the monitor of the thread; its errors are thrown by this constructor. `monitor` receives the
  // thread's reports in the threads that call next(). The team is that of the stream.
  RowsAhead(const Open& open, Team& team, const Monitor& monitor);
  ~RowsAhead() override;  // stops the batch in progress

  // As in the stream: after an error, the next call continues where the stream does.
  bool next(Table& batch) override;
  SampleReport report() const override { return report_; }  // up to the last returned rows

 private:
  struct Made {
    Table rows;
    SampleReport report;
    bool more = true;
    std::exception_ptr error;
  };
  // State shared by both threads. After fork() the child has no second thread and leaves it untouched.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Made> ready;
    int64_t rows_ready = 0;
    std::vector<Progress> reports;
    bool stop = false;
    std::unique_ptr<RowStream> stream;
    std::thread maker;
  };
  static void make(Shared& shared);
  static std::thread started(Shared& shared);
  static void keep(Shared& shared, const Progress& progress);
  void pass_on(std::unique_lock<std::mutex>& lock);
  void end_maker();
  bool is_late_cancellation(const Made& made) const;

  Team& team_;
  const Monitor& monitor_;
  const pid_t process_;
  std::unique_ptr<Shared> shared_;
  Monitor maker_monitor_;
  SampleReport report_;
};

}  // namespace tessera
