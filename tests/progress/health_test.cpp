// SPDX-License-Identifier: BSL-1.0
// Virtual time: seconds are written down, never waited for.
#include <string_view>

#include <ration/progress/health.hpp>

#include "support/catch.hpp"

using ration::milliseconds;
using ration::nanoseconds;
using ration::observation;
using ration::seconds;
using ration::progress::condition;
using ration::progress::health;
using ration::progress::message_type;
using ration::progress::phase;
using ration::progress::update;

namespace {

/// A job on a clock that goes by whole seconds.
class patient {
public:
    health state{seconds(0)};
    double now = 0;
    double used = 0;  ///< CPU seconds

    void step(std::uint64_t at, std::uint64_t bad = 0, double each = 0) {
        update reported;
        reported.body.type = message_type::step;
        reported.body.step = at;
        reported.body.loss_count = 1;
        reported.body.non_finite = bad;
        reported.body.step_seconds = each;
        state.handle(seconds(now), reported);
    }
    void report(message_type type, phase doing = phase::other, std::string_view why = {}) {
        update reported;
        reported.body.type = type;
        reported.body.now = doing;
        reported.body.why = why;
        state.handle(seconds(now), reported);
    }
    /// Lets time pass with that share of a core in use, observed every second.
    void pass(double length, double share, double throttled = 0) {
        for (double const end = now + length; now < end;) {
            now += 1;
            used += share;
            held_ += throttled;
            observation seen{};
            seen.cpu_time = seconds(used);
            seen.throttled = seconds(held_);
            state.observe(seconds(now), seen);
        }
    }
    /// Lets time pass unobserved.
    void pass_unseen(double length) { now += length; }

    [[nodiscard]] condition is() const { return state.at(seconds(now)); }

private:
    double held_ = 0;
};

}  // namespace

TEST_CASE("a job that has not spoken is not judged", "[health]") {
    patient job;
    job.pass(10'000, 0);
    CHECK(job.is() == condition::unheard);
    job.report(message_type::hello);
    CHECK(job.is() == condition::reporting);
}

TEST_CASE("no step for a minute and no use of the processor is a stall", "[health]") {
    patient job;
    job.pass(1, 1);
    job.step(1);
    job.pass(60, 0);
    CHECK(job.is() == condition::reporting);
    job.pass(1, 0);
    CHECK(job.is() == condition::stalled);
    job.step(2);
    CHECK(job.is() == condition::reporting);
}

TEST_CASE("no word for a minute with the processor in use is silence", "[health]") {
    patient job;
    job.pass(1, 1);
    job.step(1);
    job.pass(60, 1);
    CHECK(job.is() == condition::reporting);
    job.pass(1, 1);
    CHECK(job.is() == condition::silent);
}

TEST_CASE("without observations nobody can call it a stall", "[health]") {
    patient job;
    job.step(1);
    job.pass_unseen(61);
    CHECK(job.is() == condition::silent);
}

TEST_CASE("heartbeats break the silence but do not hide a stall", "[health]") {
    patient busy;
    patient idle;
    for (auto* job : {&busy, &idle}) {
        job->step(1);
        for (int minute = 0; minute < 5; ++minute) {
            job->pass(30, job == &busy ? 1 : 0);
            job->report(message_type::heartbeat);
        }
    }
    CHECK(busy.is() == condition::reporting);
    CHECK(idle.is() == condition::stalled);
}

TEST_CASE("slow steps get ten times their median", "[health]") {
    patient job;
    for (std::uint64_t at = 1; at <= 5; ++at) {
        job.pass(20, 1);
        job.step(at, 0, at == 3 ? 900 : 20);  // one outlier
    }
    CHECK(job.state.step_seconds() == 20);
    job.pass(200, 0);
    CHECK(job.is() == condition::reporting);
    job.pass(1, 0);
    CHECK(job.is() == condition::stalled);
}

TEST_CASE("step times come from the distance of messages when nothing better is said", "[health]") {
    patient job;
    for (std::uint64_t at = 10; at <= 50; at += 10) {
        job.step(at);
        job.pass(5, 1);
    }
    CHECK(job.state.step_seconds() == Catch::Approx(0.5));
}

TEST_CASE("an absurd step time does not break the clock", "[health]") {
    patient job;
    job.step(1, 0, 1e300);
    job.pass(10, 0);
    CHECK(job.is() == condition::reporting);
}

TEST_CASE("each phase has its own patience, idling has no end", "[health]") {
    struct row {
        phase doing;
        double budget;
    };
    for (auto const& [doing, budget] :
         {row{phase::load, 600}, row{phase::save, 600}, row{phase::other, 600}, row{phase::compile, 1800},
          row{phase::eval, 1800}, row{phase::train, 60}, row{phase::init, 600}}) {
        patient job;
        job.report(message_type::phase, doing);
        job.pass(budget, 0);
        CHECK(job.is() == condition::reporting);
        job.pass(1, 0);
        CHECK(job.is() == condition::stalled);
        CHECK(job.state.doing() == doing);
    }
    patient job;
    job.report(message_type::phase, phase::idle);
    job.pass(100'000, 0);
    CHECK(job.is() == condition::reporting);
}

TEST_CASE("entering a phase starts its patience", "[health]") {
    patient job;
    job.step(1);
    job.report(message_type::phase, phase::eval);
    job.pass(1000, 0);
    CHECK(job.is() == condition::reporting);
    job.report(message_type::phase, phase::train);
    job.pass(50, 0);
    CHECK(job.is() == condition::reporting);
}

TEST_CASE("a job that names its phases is taken at its word", "[health]") {
    patient job;
    job.report(message_type::phase, phase::eval);
    job.step(1);  // a late report, from before the phase
    CHECK(job.state.doing() == phase::eval);
    patient plain;
    plain.step(1);
    CHECK(plain.state.doing() == phase::train);
}

TEST_CASE("the time in another phase is no step time", "[health]") {
    patient job;
    job.report(message_type::phase, phase::train);
    job.step(1);
    job.pass(1, 1);
    job.step(2);
    job.report(message_type::phase, phase::eval);
    job.pass(500, 1);
    job.report(message_type::phase, phase::train);
    job.step(3);
    job.pass(1, 1);
    job.step(4);
    CHECK(job.state.step_seconds() == Catch::Approx(1));
}

TEST_CASE("a job that its quota holds back is not stalled", "[health]") {
    patient job;
    job.step(1);
    job.pass(100, 0.001, 0.5);
    CHECK(job.is() == condition::silent);
}

TEST_CASE("a whisper of a poll loop is no use of the processor", "[health]") {
    patient job;
    job.step(1);
    job.pass(100, 0.005);
    CHECK(job.is() == condition::stalled);
}

TEST_CASE("frozen by its owner, a job does not age", "[health]") {
    patient job;
    job.pass(1, 1);
    job.step(1);
    job.pass(30, 1);
    job.state.suspend(seconds(job.now));
    job.pass(5000, 0);
    CHECK(job.is() == condition::reporting);
    job.state.resume(seconds(job.now));
    CHECK(job.is() == condition::reporting);
    job.pass(30, 0);
    CHECK(job.is() == condition::reporting);
    job.pass(1, 0);
    CHECK(job.is() == condition::stalled);
}

TEST_CASE("one bad message is suspect, three on end are divergence", "[health]") {
    patient job;
    job.step(1);
    job.step(2, 1);
    CHECK(job.is() == condition::suspect);
    job.step(3, 1);
    CHECK(job.is() == condition::suspect);
    job.step(4);
    CHECK(job.is() == condition::reporting);
    job.step(5, 1);
    job.step(6, 1);
    CHECK(job.is() == condition::suspect);
    job.step(7, 1);
    CHECK(job.is() == condition::diverged);
    job.step(8);
    job.step(9);
    CHECK(job.is() == condition::diverged);
    job.step(10);
    CHECK(job.is() == condition::reporting);
}

TEST_CASE("a metric of the target diverges as the loss does, and is named", "[health]") {
    patient job;
    auto const evaluate = [&](std::string_view metric, std::uint64_t bad) {
        update reported;
        reported.body.type = message_type::eval;
        reported.body.metric = metric;
        reported.body.non_finite = bad;
        job.state.handle(seconds(job.now), reported, "val_loss");
    };
    for (int i = 0; i < 4; ++i) {
        evaluate("accuracy", 1);
        job.step(1);  // a finite loss between does not make it good
    }
    CHECK(job.is() == condition::reporting);
    evaluate("val_loss", 1);
    CHECK(job.is() == condition::suspect);
    evaluate("val_loss", 1);
    job.step(2);
    CHECK(job.state.diverged_by() == ration::progress::divergence::none);
    evaluate("val_loss", 1);
    CHECK(job.is() == condition::diverged);
    CHECK(job.state.diverged_by() == ration::progress::divergence::metric);
    for (int i = 0; i < 3; ++i) evaluate("val_loss", 0);
    CHECK(job.is() == condition::reporting);
    for (std::uint64_t at = 3; at < 6; ++at) job.step(at, 1);
    CHECK(job.state.diverged_by() == ration::progress::divergence::loss);
}

TEST_CASE("a job may say itself that it has diverged, and stands by it", "[health]") {
    patient job;
    job.step(1);
    job.report(message_type::bye, phase::other, "diverged");
    CHECK(job.is() == condition::diverged);
    for (std::uint64_t at = 2; at < 9; ++at) job.step(at);
    CHECK(job.is() == condition::diverged);
    CHECK(job.state.diverged_by() == ration::progress::divergence::reported);
}

TEST_CASE("after goodbye nothing more is expected", "[health]") {
    patient job;
    job.step(1);
    job.report(message_type::bye, phase::other, "done");
    job.pass(5000, 0);
    CHECK(job.is() == condition::reporting);
}

TEST_CASE("a new incarnation starts with a clean sheet", "[health]") {
    patient job;
    for (std::uint64_t at = 1; at < 4; ++at) job.step(at, 1);
    REQUIRE(job.is() == condition::diverged);
    job.state.restart(seconds(job.now));
    CHECK(job.is() == condition::unheard);
    CHECK(job.state.step_seconds() == 0);
}

TEST_CASE("each condition has a name for people", "[health]") {
    using ration::progress::name_of;
    CHECK(name_of(condition::unheard) == "not reporting yet");
    CHECK(name_of(condition::silent) == "stopped reporting");
    CHECK(name_of(condition::diverged) == "diverged");
}
