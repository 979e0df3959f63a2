// SPDX-License-Identifier: BSL-1.0
#include "view/view.hpp"

#include <cstdlib>
#include <limits>

#include "support/catch.hpp"
#include "view/screen_line.hpp"

using namespace ration;
using namespace ration::program;

namespace {

constexpr view_style plain_unicode{.unicode = true, .colour = false}, ascii{.unicode = false, .colour = false};

[[nodiscard]] job_view job(std::string name, condition now = condition::running) {
    job_view j;
    j.name = std::move(name);
    j.now = now;
    j.metric = "loss";
    j.acceptable = 0.6;
    j.objective = 0.4;
    return j;
}

[[nodiscard]] view_model model() {
    view_model m{.policy = "tradl",
                 .backend = "cgroup v1",
                 .elapsed = milliseconds(65'250),
                 .cpus = 2,
                 .used = 1.5,
                 .jobs = {},
                 .notice = {}};
    auto vae = job("vae");
    vae.first = 3.6;
    vae.value = 1.1;
    vae.held = millicores{unlimited};
    vae.used = 1.1;
    auto soft = job("softmax-with-a-very-long-name");
    soft.first = 2.6;
    soft.value = 0.5;
    soft.tier = 1;
    soft.held = millicores{500};
    soft.used = 0.494;
    auto mlp = job("mlp", condition::failed);
    mlp.detail = "exit code 1";
    auto acc = job("acc", condition::finished);
    acc.metric = "accuracy";
    acc.improves = direction::up;
    acc.first = 0.1;
    acc.value = 0.875;
    acc.acceptable.reset();
    acc.objective = 0.85;
    acc.tier = 2;
    auto later = job("later", condition::waiting);
    later.starts_in = seconds(12);
    auto stall = job("stall", condition::stalled);
    stall.detail = "no step for 65 s";
    stall.first = 2.0;
    stall.value = 2.5;
    stall.objective.reset();
    stall.held = millicores{100};
    m.jobs = {vae, soft, mlp, acc, later, stall};
    return m;
}

[[nodiscard]] std::vector<std::string> lines_of(std::string const& text) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t const end = text.find('\n', begin);
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

/// The bar of the first job of a view of one job.
[[nodiscard]] std::string bar_of(job_view const& j) {
    view_model m{.policy = "p", .backend = "", .elapsed = {}, .cpus = 1, .used = 0, .jobs = {j}, .notice = {}};
    auto const line = lines_of(render(m, 200, 9, ascii))[2];
    auto const begin = line.find('[');
    return line.substr(begin, line.find(']') - begin + 1);
}

}  // namespace

TEST_CASE("view: at full width") {
    CHECK('\n' + render(model(), 120, 24, plain_unicode) == R"(
ration  tradl  1:05  cpu ▕███████▌··▏ 1.50 of 2 cores  cgroup v1
job               to target                     value             reached     holds     uses   state
vae               ▕██████████▊··┃············▏  loss 1.1                      no limit  1.10   running
softmax-with-a-~  ▕█████████████┃█████▌······▏  loss 0.5          Acceptable  0.50      0.49   running
mlp               ▕·············┃············▏  loss -                        -         0.00   failed: exit code 1
acc               ▕██████████████████████████▏  accuracy 0.875    Objective   -         0.00   finished
later             ▕·············┃············▏  loss -                        -         0.00   starts in 12.0 s
stall             ▕··························▏  loss 2.5                      0.10      0.00   stalled: no step for 65 s
)");
}

TEST_CASE("view: 80 columns, ASCII: the state is cut and the tier goes, the bar still tells it") {
    CHECK('\n' + render(model(), 80, 24, ascii) == R"(
ration  tradl  1:05  cpu [#######...] 1.50 of 2 cores  cgroup v1
job         to target        value             holds     uses   state
vae         [#####.|......]  loss 1.1          no limit  1.10   running
softmax-w~  [######|##....]  loss 0.5          0.50      0.49   running
mlp         [......|......]  loss -            -         0.00   failed: exit co~
acc         [#############]  accuracy 0.875    -         0.00   finished
later       [......|......]  loss -            -         0.00   starts in 12.0 s
stall       [.............]  loss 2.5          0.10      0.00   stalled: no ste~
)");
}

TEST_CASE("view: 60 columns: the value goes; 40 columns: the shares go") {
    auto const sixty = lines_of(render(model(), 60, 24, ascii));
    CHECK(sixty[1] == "job         to target      holds     uses   state");
    CHECK(sixty[3] == "softmax-w~  [#####|##...]  0.50      0.49   running");
    auto const forty = lines_of(render(model(), 40, 24, ascii));
    CHECK(forty[1] == "job         to target     state");
    CHECK(forty[4] == "mlp         [.....|....]  failed: exit c");
}

TEST_CASE("view: no line is wider than the screen, no frame higher, at any size") {
    auto m = model();
    m.notice = "Ctrl-C again kills the jobs that still run, without waiting for them";
    for (std::uint32_t width : {0u, 1u, 2u, 5u, 17u, 33u, 59u, 79u, 80u, 81u, 200u, 1000u})
        for (std::uint32_t height : {0u, 1u, 2u, 3u, 4u, 8u, 9u, 50u})
            for (auto const style : {plain_unicode, ascii}) {
                auto const lines = lines_of(render(m, width, height, style));
                CHECK(lines.size() <= height);
                for (auto const& line : lines) CHECK(columns_of(line) <= std::max(width, 1u));
            }
}

TEST_CASE("view: a low screen shows running jobs, and counts the others in words") {
    auto m = model();
    auto const lines = lines_of(render(m, 100, 5, ascii));
    REQUIRE(lines.size() == 5);
    CHECK(lines[2].starts_with("vae "));
    CHECK(lines[3].starts_with("softmax"));
    CHECK(lines[4] == "and 4 more: 1 waiting, 1 stalled, 1 finished, 1 failed");
    // mlp and acc, in the middle of the file, are over: they leave first.
    auto const more = lines_of(render(m, 100, 7, ascii));
    REQUIRE(more.size() == 7);
    CHECK(more[4].starts_with("later"));
    CHECK(more[5].starts_with("stall"));
    CHECK(more[6] == "and 2 more: 1 finished, 1 failed");
    m.notice = "stopping";
    CHECK(lines_of(render(m, 100, 9, ascii)).size() == 9);
    CHECK(lines_of(render(m, 100, 9, ascii)).back() == "stopping");
    CHECK(lines_of(render(m, 100, 8, ascii))[6] == "and 2 more: 1 finished, 1 failed");
}

TEST_CASE("view: colours follow the state, and are the only escape sequences") {
    auto m = model();
    auto const lines = lines_of(render(m, 120, 24, {.unicode = false, .colour = true}));
    CHECK(lines[2].find("\x1b[34m[") != std::string::npos);  // no tier yet
    CHECK(lines[3].find("\x1b[33mAcceptable\x1b[0m") != std::string::npos);
    CHECK(lines[4].find("\x1b[31mfailed: exit code 1\x1b[0m") != std::string::npos);
    CHECK(lines[5].find("\x1b[32mObjective\x1b[0m") != std::string::npos);
    CHECK(lines[6].find("\x1b[2mstarts in") != std::string::npos);
    CHECK(lines[7].find("\x1b[33mstalled") != std::string::npos);
    CHECK(render(m, 120, 24, ascii).find('\x1b') == std::string::npos);
}

TEST_CASE("view: bars: the way to Acceptable is the first half, the way on to Objective the second") {
    auto j = job("a");
    j.first = 1.6;
    auto const at = [&](double value) {
        j.value = value;
        return bar_of(j);
    };
    CHECK(at(1.6) == "[....................|...................]");
    CHECK(at(1.1) == "[##########..........|...................]");
    CHECK(at(0.601) == "[###################.|...................]");
    CHECK(at(0.6) == "[####################|...................]");
    CHECK(at(0.5) == "[####################|#########..........]");
    CHECK(at(0.4) == "[####################|###################]");
    CHECK(at(0.1) == at(0.4));
    CHECK(at(9.0) == at(1.6));
    CHECK(at(std::numeric_limits<double>::quiet_NaN()) == at(1.6));
    j.first = 0.5;  // began beyond Acceptable
    CHECK(at(0.5) == "[####################|#########..........]");
    CHECK(at(0.7) == at(1.6));
    j.first.reset();
    j.value.reset();
    CHECK(bar_of(j) == "[....................|...................]");
}

TEST_CASE("view: a level has the window as its bar, and the time that it was met instead of a tier") {
    auto web = job("web");
    web.metric = "p95";
    web.acceptable.reset();
    web.objective.reset();
    web.first = web.value = 0.1;
    web.level = 0.2;
    web.window_met = 0;
    CHECK(bar_of(web) == "[........................................]");
    web.window_met = 0.25;
    CHECK(bar_of(web) == "[##########..............................]");
    view_model m{.policy = "p", .backend = "", .elapsed = {}, .cpus = 1, .used = 0, .jobs = {web}, .notice = {}};
    CHECK(lines_of(render(m, 120, 9, ascii))[2].find("met") == std::string::npos);  // no value yet
    m.jobs[0].level_met = 0.974;
    m.jobs[0].tier = 1;
    CHECK(lines_of(render(m, 120, 9, ascii))[2].find(" 97 % met ") != std::string::npos);
    CHECK(lines_of(render(m, 120, 9, {.unicode = false, .colour = true}))[2].find("\x1b[32m97 % met\x1b[0m") !=
          std::string::npos);
    m.jobs[0].tier = 0;
    CHECK(lines_of(render(m, 120, 9, {.unicode = false, .colour = true}))[2].find("\x1b[34m97 % met\x1b[0m") !=
          std::string::npos);
}

TEST_CASE("view: how far: fractions") {
    CHECK(fraction_of_way(2, 1, 0) == 0.5);
    CHECK(fraction_of_way(0, 0.75, 1) == 0.75);
    CHECK(fraction_of_way(2, 3, 0) == 0);
    CHECK(fraction_of_way(2, -1, 0) == 1);
    CHECK(fraction_of_way(1, 1, 1) == 1);
    CHECK(fraction_of_way(1, 2, 1) == 0);
    CHECK(fraction_of_way(std::numeric_limits<double>::infinity(), 1, 0) == 0);
    CHECK(fraction_of_way(2, std::numeric_limits<double>::quiet_NaN(), 0) == 0);
}

TEST_CASE("view: what a job says cannot reach the terminal as a command") {
    CHECK(fitted("a\x1b[2Jb", 10, true) == "a?[2Jb");
    CHECK(fitted("\xC2\x9B"
                 "2J",
                 10, true) == "?2J");  // CSI as one character
    CHECK(fitted("\xff\xfe", 10, true) == "??");
    CHECK(fitted("größer", 10, true) == "größer");
    CHECK(fitted("größer", 10, false) == "gr??er");
    CHECK(fitted("größer", 4, true) == "grö~");
    CHECK(fitted("größer", 6, true) == "größer");
    CHECK(fitted("abc", 1, true) == "~");
    CHECK(fitted("abc", 0, true).empty());
    auto m = model();
    m.jobs[0].detail = "\x1b]0;title\x07";
    m.policy = "p\x1b[31m";
    CHECK(render(m, 120, 24, plain_unicode).find('\x1b') == std::string::npos);
}

TEST_CASE("view: the style follows the environment") {
    auto const with = [](std::vector<std::pair<char const*, char const*>> const& variables) {
        for (auto const* name : {"LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR", "TERM"}) ::unsetenv(name);
        for (auto const& [name, content] : variables) ::setenv(name, content, 1);
        return style_of_environment();
    };
    CHECK_FALSE(with({}).unicode);
    CHECK(with({}).colour);
    CHECK(with({{"LANG", "en_GB.UTF-8"}}).unicode);
    CHECK(with({{"LANG", "C.utf8"}}).unicode);
    CHECK_FALSE(with({{"LANG", "en_GB.UTF-8"}, {"LC_ALL", "C"}}).unicode);
    CHECK(with({{"LANG", "C"}, {"LC_CTYPE", "de_DE.UTF-8"}}).unicode);
    CHECK(with({{"LC_ALL", ""}, {"LANG", "en_GB.UTF-8"}}).unicode);  // empty counts as not set
    CHECK_FALSE(with({{"NO_COLOR", "1"}}).colour);
    CHECK(with({{"NO_COLOR", ""}}).colour);
    CHECK_FALSE(with({{"TERM", "dumb"}}).colour);
}
