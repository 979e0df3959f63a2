// SPDX-License-Identifier: BSL-1.0
#include "view/live_view.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include "view/screen_line.hpp"

namespace ration::program {

namespace {

constexpr std::string_view hide_cursor = "\x1b[?25l", show_cursor = "\x1b[?25h", erase_line_end = "\x1b[K",
                           erase_below = "\x1b[J";

/// Those of signal(7) that end a program which does nothing about them, but for SIGKILL and those that ration waits
/// for.
constexpr int deadly_signals[] = {SIGSEGV, SIGABRT, SIGBUS,  SIGFPE,    SIGILL,  SIGTRAP, SIGSYS, SIGQUIT,  SIGUSR1,
                                  SIGUSR2, SIGALRM, SIGPROF, SIGVTALRM, SIGXCPU, SIGPOLL, SIGPWR, SIGSTKFLT};

std::atomic<int> cursor_hidden_on{-1};       // the terminal to give the cursor back to
std::atomic<bool> screen_is_foreign{false};  // after Ctrl-Z the shell has written to it

void write_now(int terminal, std::string_view text) noexcept {
    if (terminal >= 0) (void)!::write(terminal, text.data(), text.size());
}

extern "C" void give_cursor_back() { write_now(cursor_hidden_on, show_cursor); }

extern "C" void on_crash(int signal) {
    give_cursor_back();
    ::raise(signal);  // SA_RESETHAND: this time the default
}

extern "C" void on_stop(int) {
    int const saved = errno;
    give_cursor_back();
    ::raise(SIGSTOP);
    write_now(cursor_hidden_on, hide_cursor);
    screen_is_foreign = true;
    errno = saved;
}

/// Only where no other handler is set.
void handle(int signal, void (*handler)(int), int flags) noexcept {
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
    struct sigaction wanted{};
    wanted.sa_handler = handler;
    wanted.sa_flags = flags;
    ::sigaction(signal, &wanted, nullptr);
}

void guard_cursor() noexcept {
    static bool const at_exit = std::atexit(give_cursor_back) == 0;
    (void)at_exit;
    for (int const signal : deadly_signals) handle(signal, on_crash, SA_RESETHAND);
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) handle(signal, on_crash, SA_RESETHAND);
    handle(SIGTSTP, on_stop, SA_RESTART);
}

/// A separate open file description where possible, so that non-blocking mode does not affect other programs.
[[nodiscard]] process::descriptor own_description(int terminal) noexcept {
    char path[64];
    if (::ttyname_r(terminal, path, sizeof path) == 0)
        if (process::descriptor own(::open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)); own) return own;
    return process::descriptor(::fcntl(terminal, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

struct screen_size {
    std::uint32_t columns, rows;
};

[[nodiscard]] screen_size size_of(int terminal) noexcept {
    winsize size{};
    if (::ioctl(terminal, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
    return {size.ws_col, size.ws_row};
}

[[nodiscard]] std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        std::size_t const end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    return lines;
}

/// Columns of a line that may hold SGR sequences.
[[nodiscard]] std::uint32_t shown_columns(std::string_view line) noexcept {
    std::uint32_t columns = 0;
    for (std::size_t i = 0; i < line.size();)
        if (line[i] == '\x1b')
            i = std::min(line.find('m', i), line.size() - 1) + 1;
        else
            columns += columns_of(line.substr(i++, 1));
    return columns;
}

[[nodiscard]] std::string screen_text(std::vector<std::string> const& lines) {
    std::string out;
    for (auto const& line : lines) out.append(line).append(erase_line_end).append("\r\n");
    return out.append(erase_below);
}

}  // namespace

live_view::live_view(int terminal, view_style style) : terminal_(own_description(terminal)), style_(style) {
    guard_cursor();
    cursor_hidden_on = terminal_.get();
    put(hide_cursor);
}

live_view::~live_view() {
    drain();
    cursor_hidden_on = -1;
    write_now(terminal_.get(), show_cursor);
}

void live_view::draw(view_model const& model, nanoseconds now) {
    if (!drawn_at_ || now - *drawn_at_ >= least_interval) draw_now(model, now);
}

void live_view::draw_now(view_model const& model, nanoseconds now) {
    drain();
    if (!pending_.empty()) return;
    auto const size = size_of(terminal_.get());
    // The last column stays free, since terminals differ in what erasing behind it does; the last row takes the cursor.
    auto lines = split(render(model, std::max(size.columns, 2u) - 1, std::max(size.rows, 2u) - 1, style_));
    drawn_at_ = now;
    std::string const above = erase(size.columns);
    lines_ = std::move(lines);
    put(above + screen_text(lines_));
}

void live_view::print_above(std::string_view line) {
    auto const columns = size_of(terminal_.get()).columns;
    std::string out = erase(columns);
    // Erased as a whole first: the line may be longer than the screen is wide.
    out.append(erase_below).append(fitted(line, 4096, style_.unicode)).append("\r\n").append(screen_text(lines_));
    put(out);
}

/// Goes up to the first line of the view. A terminal that became narrower has broken long lines into several.
std::string live_view::erase(std::uint32_t columns) {
    if (screen_is_foreign.exchange(false)) lines_.clear();
    std::uint32_t rows = 0;
    for (auto const& line : lines_) rows += std::max((shown_columns(line) + columns - 1) / columns, 1u);
    return rows == 0 ? "\r" : "\r\x1b[" + std::to_string(rows) + 'A';
}

void live_view::put(std::string_view text) {
    constexpr std::size_t most_pending = 1 << 20;  // a screen may be held for hours
    if (pending_.size() + text.size() <= most_pending) pending_ += text;
    drain();
}

void live_view::drain() noexcept {
    pollfd wanted{terminal_.get(), POLLOUT, 0};
    while (!pending_.empty() && ::poll(&wanted, 1, 0) == 1) {
        ssize_t const wrote = ::write(terminal_.get(), pending_.data(), std::min<std::size_t>(pending_.size(), 4096));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0 && errno == EAGAIN) return;
        if (wrote <= 0) return pending_.clear();  // the terminal is gone
        pending_.erase(0, static_cast<std::size_t>(wrote));
    }
}

}  // namespace ration::program
