// caffe watch: the curves of a training in a terminal, while it goes on.
//
// A terminal is left as it was found, whatever ends the watching: q, Ctrl-C, an error. Elsewhere - a pipe, a file -
// plain lines are written, and the end of the training is the end.

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <iostream>

#include "app/commands/file_action.h"
#include "base/atomic_file.h"
#include "inspect/runs/run_log_reader.h"
#include "inspect/watch/dot_plot.h"
#include "inspect/watch/followed_file.h"
#include "robusta/error.h"

namespace robusta {
namespace {

struct WatchFlags : FileFlags {
  Flag<bool> follow{this, "follow", true, "wait for more; without, show what there is now"};
};

volatile sig_atomic_t watch_ends = 0;
void end_watching(int) { watch_ends = 1; }
void wake_up(int) {}

/// Signals interrupt the wait for the next look, and do nothing else.
void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = end_watching;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
  action.sa_handler = wake_up;
  ::sigaction(SIGWINCH, &action, nullptr);
}

/// Key by key, on a screen of its own, without a cursor.
class WatchScreen {
 public:
  WatchScreen() {
    has_keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (has_keys_) {
      termios now = before_;
      now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      now.c_cc[VMIN] = 0;
      now.c_cc[VTIME] = 0;
      ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
    }
    put("\x1b[?1049h\x1b[?25l");
  }
  ~WatchScreen() {
    try {
      put("\x1b[?25h\x1b[?1049l");
    } catch (const Error&) {  // the terminal is gone
    }
    if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  WatchScreen(const WatchScreen&) = delete;
  WatchScreen& operator=(const WatchScreen&) = delete;

  PlotSize size() const {
    winsize now = {};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) != 0 || now.ws_col == 0 || now.ws_row == 0) return {80, 24};
    return {now.ws_col, now.ws_row};
  }

  void draw(const std::vector<std::string>& lines) const {
    std::string text = "\x1b[H";
    for (size_t i = 0; i < lines.size(); ++i) text += (i ? "\r\n" : "") + lines[i] + "\x1b[K";
    put(text + "\x1b[J");
  }

  /// Waits for a key or a while. False: whoever watches wants to leave.
  bool wait(int milliseconds) const {
    pollfd keys = {STDIN_FILENO, POLLIN, 0};
    if (::poll(&keys, has_keys_ ? 1 : 0, milliseconds) > 0) {
      char key = 0;
      const ssize_t got = ::read(STDIN_FILENO, &key, 1);
      if (got == 0 && (keys.revents & POLLHUP)) return false;
      if (got == 1 && (key == 'q' || key == 'Q' || key == 3)) return false;
    }
    return !watch_ends;
  }

 private:
  static void put(const std::string& text) { write_all(STDOUT_FILENO, text.data(), text.size()); }

  termios before_ = {};
  bool has_keys_ = false;
};

/// What is known of the log so far.
class Watched {
 public:
  explicit Watched(const std::string& path) : file_(path), path_(path), reader_(path) {}
  bool look() {
    return file_.read([&](std::string_view line) { reader_.read(line); }, [&] { reader_ = RunLogReader(path_); });
  }
  /// The training that was begun last.
  RunLog latest() const {
    if (!reader_.runs().empty()) return reader_.runs().back();
    RunLog none;
    none.name = path_;
    return none;
  }
  size_t runs() const { return reader_.runs().size(); }

 private:
  FollowedFile file_;
  std::string path_;
  RunLogReader reader_;
};

constexpr int kLookEvery = 300;  // milliseconds

void watch_on_screen(Watched& watched) {
  const WatchScreen screen;
  PlotSize drawn = {0, 0};
  bool going_on = true;
  while (going_on) {
    const PlotSize size = screen.size();
    const bool resized = size.columns != drawn.columns || size.rows != drawn.rows;
    if (watched.look() || resized) screen.draw(run_screen(watched.latest(), size));
    drawn = size;
    going_on = screen.wait(kLookEvery);
  }
}

void print_new_lines(const RunLog& run, bool all, double& seen) {
  std::string text;
  for (const std::string& line : new_lines(run, all, seen)) text += line + '\n';
  write_all(STDOUT_FILENO, text.data(), text.size());
}

void watch_in_lines(Watched& watched, bool follow) {
  ::signal(SIGPIPE, SIG_IGN);  // who reads the lines may leave: that is an error of writing
  double seen = -1;
  for (size_t run = 0; !watch_ends; ::poll(nullptr, 0, kLookEvery)) {
    watched.look();
    if (watched.runs() != run) seen = -1;
    run = watched.runs();
    const RunLog latest = watched.latest();
    print_new_lines(latest, !follow, seen);
    if (!follow || latest.ended) return;
  }
}

int watch_command(const FileCommand& command) {
  WatchFlags flags;
  const FileWords read = read_file_command(command, flags, 1, 1);
  if (read.done) return read.exit_code;
  Watched watched(read.words[0]);
  catch_signals();
  const bool terminal = ::isatty(STDOUT_FILENO) && flags.follow();
  terminal ? watch_on_screen(watched) : watch_in_lines(watched, flags.follow());
  return 0;
}

[[maybe_unused]] const bool registered_watch = register_file_action(
    {"watch", "LOG", "the curves of a training in the terminal, while it goes on; q ends", watch_command});

}  // namespace
}  // namespace robusta
