// SPDX-License-Identifier: BSL-1.0
// The view on a real pseudo-terminal, watched by a small model of a terminal.
#include "view/live_view.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;
using ration::process::descriptor;

namespace {

constexpr view_style without_unicode{.unicode = false, .colour = true};

/// Understands what the view sends, in the way of a terminal that breaks lines at its edge: one character a cell.
class screen {
    std::vector<std::string> rows_{""};
    std::size_t row_ = 0, column_ = 0, width_;
    bool cursor_ = true;

public:
    explicit screen(std::size_t width) : width_(width) {}

    [[nodiscard]] bool shows_cursor() const { return cursor_; }
    [[nodiscard]] std::string text() const {
        std::string out;
        for (auto const& row : rows_) out += row.substr(0, row.find_last_not_of(' ') + 1) + '\n';
        out.erase(out.find_last_not_of('\n') + 1);
        return out + '\n';
    }

    void take(std::string_view bytes) {
        for (std::size_t i = 0; i < bytes.size(); ++i)
            if (bytes[i] == '\r')
                column_ = 0;
            else if (bytes[i] == '\n')
                go_down();
            else if (bytes[i] != '\x1b')
                put(bytes[i]);
            else
                i = sequence(bytes, i + 2);
    }

    /// The window becomes narrower or wider, and the text flows to fit, as in most terminals of today.
    void resize(std::size_t width) {
        std::vector<std::string> flowed;
        std::size_t cursor_row = 0;
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            if (r == row_) cursor_row = flowed.size();
            auto rest = rows_[r].substr(0, rows_[r].find_last_not_of(' ') + 1);
            do {
                flowed.push_back(rest.substr(0, width));
                rest.erase(0, width);
            } while (!rest.empty());
        }
        rows_ = std::move(flowed);
        row_ = cursor_row;
        width_ = width;
    }

private:
    void go_down() {
        if (++row_ == rows_.size()) rows_.emplace_back();
    }
    void put(char c) {
        if (column_ == width_) {
            column_ = 0;
            go_down();
        }
        auto& row = rows_[row_];
        if (row.size() <= column_) row.resize(column_ + 1, ' ');
        row[column_++] = c;
    }
    [[nodiscard]] std::size_t sequence(std::string_view bytes, std::size_t begin) {
        std::size_t const end = bytes.find_first_of("AJKmhl", begin);
        auto const arguments = std::string(bytes.substr(begin, end - begin));
        switch (bytes[end]) {
            case 'A':
                row_ -= std::min<std::size_t>(row_, static_cast<std::size_t>(std::atoi(arguments.c_str())));
                break;
            case 'K': rows_[row_].resize(std::min(rows_[row_].size(), column_)); break;
            case 'J':
                rows_[row_].resize(std::min(rows_[row_].size(), column_));
                rows_.resize(row_ + 1);
                break;
            case 'h':
            case 'l': cursor_ = bytes[end] == 'h'; break;
            default: break;
        }
        return end;
    }
};

/// Both ends of a terminal. What the program writes is taken over on `show`.
struct terminal {
    descriptor keyboard_side, program_side;
    screen model;

    explicit terminal(unsigned short columns, unsigned short rows = 40)
        : keyboard_side(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)), model(columns) {
        REQUIRE(::grantpt(keyboard_side.get()) == 0);
        REQUIRE(::unlockpt(keyboard_side.get()) == 0);
        program_side = descriptor(::open(::ptsname(keyboard_side.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
        REQUIRE(program_side);
        resize(columns, rows);
    }
    void resize(unsigned short columns, unsigned short rows) {
        winsize const size{rows, columns, 0, 0};
        REQUIRE(::ioctl(program_side.get(), TIOCSWINSZ, &size) == 0);
    }
    [[nodiscard]] std::string received() {
        std::string out;
        char buffer[4096];
        for (ssize_t got; (got = ::read(keyboard_side.get(), buffer, sizeof buffer)) > 0;)
            out.append(buffer, static_cast<std::size_t>(got));
        model.take(out);
        return out;
    }
    [[nodiscard]] std::string shown() {
        (void)received();
        return model.text();
    }
};

[[nodiscard]] view_model model_of(std::size_t jobs, double used = 0.5) {
    view_model m{
        .policy = "tradl", .backend = "fake", .elapsed = seconds(1), .cpus = 2, .used = used, .jobs = {}, .notice = {}};
    for (std::size_t i = 0; i < jobs; ++i) {
        job_view j;
        j.name = "job" + std::to_string(i);
        j.now = condition::running;
        j.metric = "loss";
        j.used = used;
        m.jobs.push_back(j);
    }
    return m;
}

[[nodiscard]] std::string expected(view_model const& m, std::uint32_t columns, std::uint32_t rows = 40) {
    return render(m, columns - 1, rows - 1, {.unicode = false, .colour = false});
}

}  // namespace

TEST_CASE("live_view: frame after frame stands in the same place, and the cursor comes back") {
    terminal t(100);
    {
        live_view view(t.program_side.get(), without_unicode);
        (void)t.received();
        CHECK_FALSE(t.model.shows_cursor());
        for (double const used : {0.1, 1.25, 0.0}) {
            view.draw_now(model_of(3, used), {});
            CHECK(t.shown() == expected(model_of(3, used), 100));
        }
        view.draw_now(model_of(1), {});  // fewer lines: nothing remains of the others
        CHECK(t.shown() == expected(model_of(1), 100));
        view.draw_now(model_of(4), {});
    }
    CHECK(t.shown() == expected(model_of(4), 100));
    CHECK(t.model.shows_cursor());
}

TEST_CASE("live_view: at most ten frames a second") {
    terminal t(100);
    live_view view(t.program_side.get(), without_unicode);
    view.draw(model_of(1, 0.1), seconds(5));
    (void)t.received();
    view.draw(model_of(1, 0.2), seconds(5) + milliseconds(99));
    CHECK(t.received().empty());
    view.draw(model_of(1, 0.3), seconds(5) + milliseconds(100));
    CHECK(t.shown() == expected(model_of(1, 0.3), 100));
    view.draw_now(model_of(1, 0.4), seconds(5) + milliseconds(101));
    CHECK(t.shown() == expected(model_of(1, 0.4), 100));
}

TEST_CASE("live_view: a window that becomes narrower or wider leaves no rests of the old frame") {
    terminal t(120);
    live_view view(t.program_side.get(), without_unicode);
    view.draw_now(model_of(3), {});
    (void)t.received();
    for (unsigned short const columns : {50, 31, 90, 120}) {
        t.resize(columns, 40);
        t.model.resize(columns);
        view.draw_now(model_of(3), {});
        CHECK(t.shown() == expected(model_of(3), columns));
    }
}

TEST_CASE("live_view: a low window") {
    terminal t(100, 6);
    live_view view(t.program_side.get(), without_unicode);
    view.draw_now(model_of(9), {});
    view.draw_now(model_of(9), {});
    CHECK(t.shown() == expected(model_of(9), 100, 6));
}

TEST_CASE("live_view: a line above the view stays, the view moves down") {
    terminal t(60);
    live_view view(t.program_side.get(), without_unicode);
    view.draw_now(model_of(2), {});
    std::string const warning = "warning: \x1b[2J" + std::string(70, 'x');  // longer than the screen is wide
    view.print_above(warning);
    std::string const above = "warning: ?[2J" + std::string(47, 'x') + '\n' + std::string(23, 'x') + '\n';
    CHECK(t.shown() == above + expected(model_of(2), 60));
    view.draw_now(model_of(2, 0.75), {});
    CHECK(t.shown() == above + expected(model_of(2, 0.75), 60));
}

TEST_CASE("live_view: a terminal that takes nothing costs frames, not time, and no half sequence ever follows") {
    terminal t(100);
    live_view view(t.program_side.get(), without_unicode);
    for (int i = 0; i < 2000; ++i) view.draw_now(model_of(20, i * 0.001), {});  // far more than a pseudo-terminal holds
    for (int i = 0; i < 20; ++i) {
        (void)t.received();
        view.draw_now(model_of(20, 1.5), {});
    }
    CHECK(t.shown() == expected(model_of(20, 1.5), 100));
}

TEST_CASE("live_view: the cursor comes back after a crash and after exit") {
    for (bool const crash : {true, false}) {
        terminal t(100);
        pid_t const child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            for (int const signal : {SIGABRT, SIGSEGV}) std::signal(signal, SIG_DFL);  // the test framework has its own
            auto* const view = new live_view(t.program_side.get(), without_unicode);
            view->draw_now(model_of(1), {});
            if (crash) std::abort();
            std::exit(0);  // without a destructor
        }
        int how = 0;
        REQUIRE(::waitpid(child, &how, 0) == child);
        CHECK(WIFSIGNALED(how) == crash);
        (void)t.received();
        CHECK(t.model.shows_cursor());
    }
}

TEST_CASE("live_view: the cursor comes back after every signal that ends a program") {
    std::vector<int> signals{SIGSEGV, SIGABRT, SIGBUS,    SIGFPE,   SIGILL,  SIGTRAP,   SIGSYS,
                             SIGQUIT, SIGUSR1, SIGUSR2,   SIGALRM,  SIGPROF, SIGVTALRM, SIGXCPU,
                             SIGPOLL, SIGPWR,  SIGSTKFLT, SIGRTMIN, SIGRTMAX};
    for (int const signal : signals) {
        INFO(::strsignal(signal));
        terminal t(100);
        pid_t const child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            for (int const one : signals) std::signal(one, SIG_DFL);  // the test framework has its handlers
            rlimit const none{};
            ::setrlimit(RLIMIT_CORE, &none);
            auto* const view = new live_view(t.program_side.get(), without_unicode);
            view->draw_now(model_of(1), {});
            ::raise(signal);
            ::_exit(0);
        }
        int how = 0;
        REQUIRE(::waitpid(child, &how, 0) == child);
        CHECK(WIFSIGNALED(how));
        CHECK(WTERMSIG(how) == signal);
        (void)t.received();
        CHECK(t.model.shows_cursor());
    }
}

TEST_CASE("live_view: Ctrl-Z gives the cursor to the shell, and the view starts anew below what the shell wrote") {
    terminal t(100);
    int talk[2];
    REQUIRE(::pipe(talk) == 0);
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::signal(SIGTSTP, SIG_DFL);
        live_view view(t.program_side.get(), without_unicode);
        view.draw_now(model_of(1, 0.1), {});
        ::raise(SIGTSTP);
        view.draw_now(model_of(1, 0.2), {});
        char c;
        (void)!::read(talk[0], &c, 1);
        ::_exit(0);
    }
    int how = 0;
    REQUIRE(::waitpid(child, &how, WUNTRACED) == child);
    CHECK(WIFSTOPPED(how));
    CHECK(t.shown() == expected(model_of(1, 0.1), 100));
    CHECK(t.model.shows_cursor());
    REQUIRE(::write(t.program_side.get(), "$ fg\n", 5) == 5);
    (void)t.received();
    REQUIRE(::kill(child, SIGCONT) == 0);
    std::string const both = expected(model_of(1, 0.1), 100) + "$ fg\n" + expected(model_of(1, 0.2), 100);
    for (int i = 0; i < 500 && t.shown() != both; ++i) ::usleep(10'000);
    CHECK(t.shown() == both);
    CHECK_FALSE(t.model.shows_cursor());
    CHECK(::write(talk[1], "x", 1) == 1);
    CHECK(::waitpid(child, &how, 0) == child);
    ::close(talk[0]);
    ::close(talk[1]);
}
