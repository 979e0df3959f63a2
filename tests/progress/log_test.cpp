// SPDX-License-Identifier: BSL-1.0
// Logs of scripts that do not use ration.
#include <string>
#include <vector>

#include <ration/progress/log_adapter.hpp>

#include "support.hpp"

using namespace progress_test;
using ration::errc;
using rp::log_adapter;
using rp::message_type;

namespace {

constexpr auto usual = R"(step[= ](?<step>\d+).*loss[= :]+(?<loss>[-+\w.]+))";

struct reader {
    log_adapter adapter;
    notebook reported{};

    explicit reader(std::string_view pattern) : reader(std::vector{std::string(pattern)}) {}
    explicit reader(std::vector<std::string> const& patterns) : adapter(make(patterns)) {}
    static log_adapter make(std::vector<std::string> const& patterns) {
        auto made = log_adapter::make(patterns, {7}, {2});
        REQUIRE(made);
        return std::move(*made);
    }
    reader& operator<<(std::string_view bytes) {
        adapter.feed(bytes, reported);
        return *this;
    }
    [[nodiscard]] std::vector<double> losses() const {
        std::vector<double> out;
        for (auto const& one : reported.of(message_type::step)) out.push_back(one.update.body.loss_mean);
        return out;
    }
};

std::string remedy_of(std::string_view pattern) {
    auto const made = log_adapter::make(pattern, {7}, {1});
    REQUIRE_FALSE(made);
    CHECK(made.failure().code == errc::invalid_value);
    CHECK(std::string_view(made.failure().operation) == "read a log pattern");
    return made.failure().remedy;
}

bool compiles(std::string_view pattern) { return static_cast<bool>(log_adapter::make(pattern, {7}, {1})); }

}  // namespace

TEST_CASE("a line with step and loss is an update of the job", "[log]") {
    reader log(usual);
    log << "loading\nstep 12 lr 0.1 loss: 0.25\n";
    REQUIRE(log.reported.all.size() == 1);
    auto const& update = log.reported.all[0].update;
    CHECK(update.job == ration::job_id{7});
    CHECK(update.run == ration::incarnation_id{2});
    CHECK(update.body.type == message_type::step);
    CHECK(update.body.step == 12);
    CHECK(update.body.loss_count == 1);
    CHECK(update.body.loss_mean == 0.25);
    CHECK(log.adapter.counts().lines == 2);
    CHECK(log.adapter.counts().matched == 1);
}

TEST_CASE("pieces of any size give the same updates", "[log]") {
    std::string const text =
        "step=1 loss=1.5\r\nstep=2 \x1b[1;31mloss\x1b[0m=2.5\n\x1b]0;title\astep=3 loss=3.5\rstep=4 loss=4.5";
    for (std::size_t size = 1; size <= text.size(); ++size) {
        reader log(usual);
        for (std::size_t at = 0; at < text.size(); at += size) log << std::string_view(text).substr(at, size);
        CHECK(log.losses() == std::vector<double>{1.5, 2.5, 3.5});
        log.adapter.finish(log.reported);
        CHECK(log.losses() == std::vector<double>{1.5, 2.5, 3.5, 4.5});
        CHECK(log.adapter.counts().lines == 4);
    }
}

TEST_CASE("a progress bar that redraws itself reports each state once", "[log]") {
    reader log(usual);
    log << " 10%|#  | step 1 loss=0.5\r 10%|#  | step 1 loss=0.5\r 20%|## | step 2 loss=0.5\r 20%|## | step 2 loss=0.4\r";
    CHECK(log.losses() == std::vector<double>{0.5, 0.5, 0.4});
    CHECK(log.adapter.counts().repeated == 1);
    log << "step 3 loss=1\b\b\bstep 4 loss=2\b";
    CHECK(log.losses().size() == 5);
}

TEST_CASE("numbers are read in each notation, and one that is too small for a double is 0", "[log]") {
    reader log(usual);
    log << "step 1 loss=+1.5e-3\nstep 2 loss=1e-999\nstep 3 loss=-.5\n";
    CHECK(log.losses() == std::vector<double>{0.0015, 0, -0.5});
}

TEST_CASE("a part of a number is not a number", "[log]") {
    reader log(R"(step (?<step>\d+) loss: (?<loss>[-+.\w]+))");
    for (auto const* const text : {"8,748", "0,35", "97%", "1.#QNAN", "1.2e+400,5"}) {
        INFO(text);
        auto const before = log.adapter.counts().unreadable;
        log << "step 1 loss: " << text << "\n";
        CHECK(log.adapter.counts().unreadable == before + 1);
    }
    CHECK(log.reported.all.empty());
    CHECK(log.adapter.unreadable().text == "1.2e+400,5");
    log << "step 1 loss: 8, 748\nstep 2 loss: 0.35.\nstep 3 loss: 97 %\n";
    CHECK(log.losses() == std::vector<double>{8, 97});

    reader digits(R"(loss (?<loss>[\d.]+))");
    digits << "loss 1.2e-05\nloss 3,5\nloss 3.\nloss 4 e-5\n";
    CHECK(digits.losses() == std::vector<double>{3, 4});
    reader greedy(R"(.*(?<loss>[\d.]+))");
    greedy << "loss 0.731\nloss 7\n";
    CHECK(greedy.losses() == std::vector<double>{7});
    reader counter(R"(step (?<step>\d+).* loss (?<loss>\S+))");
    counter << "step 1,000 loss 1\nstep 1000 loss 2\n";
    CHECK(counter.losses() == std::vector<double>{2});
}

TEST_CASE("a pattern may require the character that follows a number", "[log]") {
    reader log(R"((?<step>\d+),(?<loss>[\d.]+),acc (?<acc>\d+)%)");
    log << "1,2,acc 97%\n2,3.5,acc 98%\n";
    CHECK(log.losses() == std::vector<double>{2, 3.5});
    CHECK(log.reported.of(message_type::eval).size() == 2);
    reader fraction(R"(loss (?<loss>\d+)\.)"), maybe(R"(loss (?<loss>\d+),?)"), any(R"(loss (?<loss>\d+).)");
    for (auto* const one : {&fraction, &maybe, &any}) *one << "loss 2.5\nloss 3,5\n";
    CHECK(fraction.losses() == std::vector<double>{2});
    CHECK(maybe.losses().empty());
    CHECK(any.losses().empty());
}

TEST_CASE("the values of each metric are counted", "[log]") {
    reader log(R"(step (?<step>\d+) loss (?<loss>\S+) tps (?<tps>\S+))");
    log << "step 1 loss 1 tps 149\nstep 2 loss 1 tps 6,502\nstep 3 loss x tps 6,503\n";
    CHECK(log.adapter.counts_of("tps").read == 1);
    CHECK(log.adapter.counts_of("tps").unreadable == 2);
    CHECK(log.adapter.counts_of("loss").read == 2);
    CHECK(log.adapter.counts_of("loss").unreadable == 1);
    CHECK(log.adapter.counts_of("absent").read == 0);
}

TEST_CASE("equal values on lines of their own are values of their own", "[log]") {
    reader log(R"((?<step>\d+)/(?:\d+) .*accuracy=(?<accuracy>[\d.]+), loss=(?<loss>[\d.]+))");
    log << "Epoch 1: 938/938 [00:11, accuracy=1, loss=0.03]\nEpoch 2: 938/938 [00:11, accuracy=1, loss=0.03]\r\n"
           "Epoch 3: 938/938 [00:11, accuracy=1, loss=0.03]\rEpoch 3: 938/938 [00:11, accuracy=1, loss=0.03]\n";
    CHECK(log.losses() == std::vector<double>{0.03, 0.03, 0.03});
    CHECK(log.reported.of(message_type::eval).size() == 3);
    CHECK(log.adapter.counts().repeated == 2);
}

TEST_CASE("losses are counted until the first step", "[log]") {
    reader log(std::vector<std::string>{R"(^Epoch (?<step>\d+)/)", R"(loss: (?<loss>[\d.]+)(?: acc: (?<acc>\S+))?)"});
    log << "loss: 5\nloss: 3.8 acc: 1\nloss: 3.8\n";
    auto steps = log.reported.of(message_type::step);
    REQUIRE(steps.size() == 3);
    CHECK(steps[2].update.body.step == 3);
    log << "Epoch 1/5\nloss: 3\n";
    steps = log.reported.of(message_type::step);
    REQUIRE(steps.size() == 4);
    CHECK(steps[3].update.body.step == 1);
    CHECK_FALSE(steps[3].update.rollback);
}

TEST_CASE("a match that holds no number is counted, not guessed", "[log]") {
    reader log(R"(step=(?<step>\S+) loss=(?<loss>\S+))");
    log << "step=1,000 loss=1\nstep=1 loss=n/a\nstep=2 loss=0.5.\nstep=-1 loss=1\nstep=3 loss=+\n";
    CHECK(log.reported.all.empty());
    CHECK(log.adapter.counts().unreadable == 5);
    CHECK(log.adapter.unreadable().group == "loss");
    CHECK(log.adapter.unreadable().text == "+");
    log << "step=1,000 loss=1\n";
    CHECK(log.adapter.unreadable().group == "step");
    CHECK(log.adapter.unreadable().text == "1,000");
}

TEST_CASE("a line that is too long is counted, and the next one is read", "[log]") {
    reader log(usual);
    std::string const head = "step 1 loss=0.";
    log << head << std::string(4096 - head.size(), '1') << "\n";
    CHECK(log.losses().size() == 1);
    log << head << std::string(4097 - head.size(), '1') << "\nstep 2 loss=2\n" << std::string(100'000, 'x') << "\r";
    CHECK(log.losses().size() == 2);
    CHECK(log.adapter.counts().overlong == 2);
}

TEST_CASE("a broken escape sequence does not swallow the log", "[log]") {
    reader log(usual);
    log << "\x1b]0;no end\nstep 1 loss=1\n\x1b[31\nstep 2 loss=2\n\x1b\nstep 3 loss=3\n\x1bPdata\x1b\\step 4 loss=4\n";
    CHECK(log.losses() == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("without a group for the step, losses are counted", "[log]") {
    reader log(R"(loss (?<loss>[\d.]+))");
    log << "loss 3\nloss 3\nother\nloss 2\n";
    auto const steps = log.reported.of(message_type::step);
    REQUIRE(steps.size() == 3);
    CHECK(steps.back().update.body.step == 3);
    CHECK(log.adapter.counts().repeated == 0);
}

TEST_CASE("without groups for the step and the loss, lines with metrics are counted", "[log]") {
    reader log(R"(accuracy (?<accuracy>[\d.]+)(?: f1 (?<f1>\S+))?)");
    log << "accuracy 0.5 f1 0.4\nother\naccuracy 0.5\n";
    auto const evaluations = log.reported.of(message_type::eval);
    REQUIRE(evaluations.size() == 3);
    CHECK(evaluations[1].update.body.step == 1);
    CHECK(evaluations[2].update.body.step == 2);
}

TEST_CASE("any other group is a metric, and total is the number of steps", "[log]") {
    reader log(
        R"(step (?<step>\d+)/(?<total>\d+) loss (?<loss>[\d.]+)(?: acc (?<accuracy>[\w.]+))?|val (?<val_loss>[\d.]+))");
    log << "step 1/50 loss 2\nstep 2/50 loss 1 acc 0.75\nval 0.5\nstep 3/50 loss 1 acc nan\n";
    REQUIRE(log.reported.all.size() == 6);
    CHECK(log.reported.all[0].update.body.total_steps == 50);
    CHECK(log.reported.all[2].metric == "accuracy");
    CHECK(log.reported.all[2].update.body.type == message_type::eval);
    CHECK(log.reported.all[2].update.body.step == 2);
    CHECK(log.reported.all[2].update.body.value == 0.75);
    CHECK(log.reported.all[3].metric == "val_loss");
    CHECK(log.reported.all[3].update.body.step == 2);
    CHECK(log.reported.all[5].update.body.non_finite == 1);
}

TEST_CASE("a step named on a line of its own belongs to the loss that follows", "[log]") {
    reader log(R"(^step (?<step>\d+)$|^loss (?<loss>[\d.]+)$)");
    log << "step 5\nloss 2\nstep 6\nloss 2\nstep 3\nloss 1\n";
    auto const steps = log.reported.of(message_type::step);
    REQUIRE(steps.size() == 3);
    CHECK(steps[1].update.body.step == 6);
}

TEST_CASE("every pattern of a list reads each line, and the first that has a group gives its text", "[log]") {
    reader log({R"(^step (?<step>\d+))", R"( acc (?<accuracy>\S+))", R"(train (?<loss>\S+))", R"(loss (?<loss>\S+))"});
    log << "step 4 loss 9 acc 0.5\nother\nstep 5 train 2 loss 8\nloss 7\n";
    CHECK(log.losses() == std::vector<double>{9, 2, 7});
    auto const accuracies = log.reported.of(message_type::eval);
    REQUIRE(accuracies.size() == 1);
    CHECK(accuracies[0].update.body.step == 4);
    CHECK(log.reported.of(message_type::step)[2].update.body.step == 5);
    CHECK(log.adapter.counts().matched == 3);
    CHECK(log.adapter.counts().reported == 4);
    CHECK(log.adapter.unread_line() == "other");
    CHECK_FALSE(log_adapter::make(std::vector<std::string>{"(?<step>x)", "(?<total>x)"}, {7}, {1}));
    CHECK_FALSE(log_adapter::make(std::vector<std::string>{"(?<loss>x)", "("}, {7}, {1}));
    CHECK_FALSE(log_adapter::make(std::vector<std::string>{}, {7}, {1}));
}

TEST_CASE("a metric that a progress bar draws again counts once", "[log]") {
    reader log(R"((?<step>\d+)/9 loss=(?<loss>\S+) acc=(?<accuracy>\S+))");
    log << "1/9 loss=3 acc=0.5\r1/9 loss=3 acc=0.5\r1/9 loss=2 acc=0.5\r2/9 loss=2 acc=0.5\r      \r";
    CHECK(log.losses() == std::vector<double>{3, 2, 2});
    CHECK(log.reported.of(message_type::eval).size() == 2);
    CHECK(log.adapter.counts().lines == 4);
}

TEST_CASE("a lower step is a rollback", "[log]") {
    reader log(usual);
    log << "step 5 loss=1\nstep 3 loss=1\nstep 4 loss=1\n";
    auto const steps = log.reported.of(message_type::step);
    REQUIRE(steps.size() == 3);
    CHECK_FALSE(steps[0].update.rollback);
    CHECK(steps[1].update.rollback);
    CHECK_FALSE(steps[2].update.rollback);
}

TEST_CASE("a bad pattern is refused with what is missing", "[log]") {
    CHECK(remedy_of("loss=([0-9.]+)").find("(?<loss>...)") != std::string::npos);
    CHECK(remedy_of("(?<step>x)").find("(?<loss>...)") != std::string::npos);
    CHECK(remedy_of("(?<loss>x)(?<loss>y)").find("two groups") != std::string::npos);
    CHECK(remedy_of("(?<>x)").find("name") != std::string::npos);
    CHECK(remedy_of("(?<lo ss>x)").find("name") != std::string::npos);
    CHECK(remedy_of("(?<1>x)").find("name") != std::string::npos);
    CHECK(remedy_of("(?<loss").find("name") != std::string::npos);
    CHECK(remedy_of("(?<loss>x").find("ECMAScript") != std::string::npos);
    CHECK(remedy_of("(?<loss>x))(y").find("ECMAScript") != std::string::npos);
    CHECK(remedy_of("(?<loss>[x)").find("ECMAScript") != std::string::npos);
    CHECK(remedy_of("(?<=a)(?<loss>x)").find("ECMAScript") != std::string::npos);
    CHECK(remedy_of("(?<loss>x)\\1").find("back-references") != std::string::npos);
    CHECK(remedy_of("(?<loss>x)\\66666666666666666666").find("back-references") != std::string::npos);
    CHECK(remedy_of("(?<loss>x){100000}").find("255") != std::string::npos);
    CHECK(remedy_of("(?<loss>x){1,256}").find("255") != std::string::npos);
    CHECK(remedy_of("(?<loss>x){26666666666666666666,3}").find("255") != std::string::npos);
    CHECK(log_adapter::make("(?<loss>x{2,255})[{999}]\\{999", {7}, {1}));
    CHECK(remedy_of("(?<loss>(?:x{50}){41})").find("2000") != std::string::npos);
    CHECK(remedy_of("(?<loss>x)x{255}x{255}x{255}x{255}x{255}x{255}x{255}x{255}").find("2000") != std::string::npos);
    CHECK(log_adapter::make("(?<loss>(?:x{40}){40})", {7}, {1}));
    CHECK(log_adapter::make("(?<loss>(?:x+(?:y*){3}){0,100})x{255}", {7}, {1}));
    CHECK(remedy_of("(?<loss>" + std::string(1020, 'x') + ")").find("1024") != std::string::npos);
    auto const made = log_adapter::make("oops\x1b=(.*)", {7}, {1});
    REQUIRE_FALSE(made);
    CHECK(made.failure().subject == std::string_view("oops?=(.*)"));
}

TEST_CASE("names are found only where a group opens", "[log]") {
    reader log(R"(\((a)[(?<x>[:alpha:]](?:b)(?=c)c(?P<loss>\d)\\(?<acc>\d))");
    log << "(a(bc5\\6\n";
    REQUIRE(log.reported.all.size() == 2);
    CHECK(log.reported.all[0].update.body.loss_mean == 5);
    CHECK(log.reported.all[1].metric == "acc");
    CHECK(log.reported.all[1].update.body.value == 6);
    for (auto const* const torn : {"\\", "[", "[[:", "[\\", "(?<", "(?P<", "(?<loss>x)\\", "(?<loss>[[:alpha:x)"}) {
        INFO(torn);
        CHECK_FALSE(compiles(torn));
    }
}

TEST_CASE("no line makes the search explode", "[log]") {
    std::string const line(4000, 'a');
    for (auto const* const pattern :
         {"(?<loss>(a+)+)$b", "(?<loss>(a|aa)+)$b", ".*.*.*.*=(?<loss>x)", "((a*)*(a*)*)*(?<loss>b)"}) {
        reader log(pattern);
        for (int at = 0; at < 20; ++at) log << line << "\n";  // backtracking would not come to an end
        CHECK(log.reported.all.empty());
        CHECK(log.adapter.counts().lines == 20);
    }
}

TEST_CASE("a line that is too costly to search does not match, and the next one is read") {
    reader log(std::vector<std::string>{"(?:(?:a?){90}){4}b(?<loss>x)", "loss=(?<loss>[0-9.]+)"});
    std::string const tail = " loss=1\n";
    log << std::string(4000, 'a') << tail << "loss=2\n";
    CHECK(log.losses() == std::vector<double>{2});
    CHECK(log.adapter.counts().costly == 1);
    CHECK(log.adapter.counts().lines == 2);
    for (auto const* const pattern : {"(?:(?:|a|b){60}){2}(?<loss>x)", "(?:(?=a*x)a)*(?<loss>x)",
                                      "(?:(?:){250}){7}(?<loss>x)", "(?:(?:a?|){90}){2}(?<loss>x)"}) {
        INFO(pattern);
        reader other(pattern);
        other << std::string(4000, 'a') << "x\n";
        CHECK(other.adapter.counts().costly == 1);
    }
}

TEST_CASE("usual patterns are not too costly for the longest line") {
    std::string const number = R"([-+]?(?:[\d.]+(?:[eE][-+]?\d+)?|[a-zA-Z]+))";
    for (auto const& pattern :
         {std::string(usual), "Epoch (?<step>\\d+).*[ ,](?:train[_/])?loss(?:_step)?=(?<loss>" + number + ")",
          "(?:iter|step) (?<step>\\d+):(?:.*,)? loss (?<loss>" + number + ")"}) {
        INFO(pattern);
        reader log(pattern);
        std::string line = "Epoch 3: step 4: loss=x, ";
        while (line.size() < 4000) line += "accuracy 0.5, loss 1.25, train_loss=1e-3; ";
        log << line << "\n";
        CHECK(log.adapter.counts().costly == 0);
    }
}

TEST_CASE("a bar that a carriage return begins is drawn on a new line after a newline", "[log]") {
    reader log(R"((?<step>\d+)/938 .*loss=(?<loss>[\d.]+))");
    log << "\r938/938 [loss=0.03]\n\r938/938 [loss=0.03]\r938/938 [loss=0.03]\n938/938 [loss=0.03]\r\n938/938 [loss=0.03]\r\n";
    CHECK(log.losses() == std::vector<double>{0.03, 0.03, 0.03, 0.03});
    CHECK(log.adapter.counts().repeated == 1);
}

TEST_CASE("bars below one another redraw themselves", "[log]") {
    reader log(R"((?<step>\d+)/9 .*loss=(?<loss>[\d.]+))");
    for (int at = 0; at < 3; ++at) log << "\r1/9 [loss=0.5]\n\r2/7 [acc=1]\x1b[A";
    CHECK(log.losses() == std::vector<double>{0.5});
    log << "\n\n2/9 [loss=0.5]\n2/9 [loss=0.5]\n";
    CHECK(log.losses() == std::vector<double>{0.5, 0.5, 0.5});
}

TEST_CASE("a step that is not a number loses the metrics of its line, which is counted", "[log]") {
    reader log(R"(step (?<step>\d+) .*loss (?<loss>\S+))");
    log << "step 999 loss 1\nstep 1,000 loss 1\nstep 1,001 loss 1\n";
    reader half(R"(step (?<step>\d+).*loss (?<loss>\S+))");
    half << "step 999 loss 1\nstep 1,000 loss 1\nstep 1,001 loss 1\n";
    CHECK(half.losses().size() == 1);
    CHECK(half.adapter.counts_of("loss").read == 1);
    CHECK(half.adapter.counts_of("loss").unreadable == 2);
    CHECK(half.adapter.unreadable().group == "step");
    CHECK(half.adapter.unreadable().text == "1,001");
}

TEST_CASE("a unit that the pattern names may follow a number, and a comma if it has to", "[log]") {
    auto const read = [](std::string_view pattern, std::string_view line) {
        reader log(pattern);
        log << line << "\n";
        return log.losses();
    };
    std::vector<double> const wanted{97};
    for (auto const* const pattern : {R"(loss (?<loss>\d+)%)", R"(loss (?<loss>\d+)%?)", R"(loss (?<loss>\d+)[%,])",
                                      R"(loss (?:(?<loss>\d+))%)", R"(loss (?<loss>\d+)(?:%|,))"})
        CHECK(read(pattern, "loss 97%") == wanted);
    CHECK(read(R"(^(?<step>\d+),(?<loss>\d+),)", "5,97,1") == wanted);
    CHECK(read(R"(^(?<step>\d+)[, ]+(?<loss>\d+))", "5,97").empty());  // or 5 thousand
    CHECK(read(R"(loss (?<loss>\d+)[^%])", "loss 97%").empty());
}
