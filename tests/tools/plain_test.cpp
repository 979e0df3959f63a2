// SPDX-License-Identifier: BSL-1.0
#include "sample_events.hpp"
#include "support/catch.hpp"
#include "view/job_text.hpp"
#include "view/view.hpp"

using namespace ration;
using namespace ration::program;

TEST_CASE("plain view: the events worth a line, each as one sentence") {
    sample_events const samples;
    std::vector<std::string> lines;
    for (auto const& e : samples.all)
        if (auto line = plain_line(e); !line.empty()) lines.push_back(std::move(line));
    CHECK(lines ==
          std::vector<std::string>{
              "[  0.0 s] policy tradl shares 2 cores and 2 devices: cpu by cgroup v1, memory by process, approximate",
              "[  0.0 s] vae started as process 77",
              "[  0.0 s] vae reached Acceptable after 3.0 s, with 119.5 at step 12",
              "[  0.0 s] vae is stalled: no step for 60 s",
              "[  0.0 s] vae: cpu.max from max 100000 to 50000 100000 (at fair share)",
              "[  0.0 s] warning: vae: 12 messages with a wrong token",
              "[  0.0 s] error of policy mine.so: a?[2Jb",
              "[  0.0 s] vae failed at step 40: exit code 3",
              "[  0.0 s] mlp failed at step 41, level met 97 % of the time",
              "[  0.0 s] interrupted after 5.0 s, 1.50 cores used on average",
              "[  0.0 s] vae stays at 2 devices and does not get 4: its checkpoint failed",
              "[  0.0 s] warning: GPU-1 is withheld from jobs for a while: the driver reports Xid 79",
              "[  0.0 s] vae is delivered: checkpoint of step 1200 in /out/tradl/vae.acceptable",
              "[  0.0 s] data/a.bin is in memory with 4 KiB (it serves)",
              "[  0.0 s] web holds its level: p95 0.15 on average, 90 % of the window met",
          });
}

TEST_CASE("plain view: a lost level, with a mean and without a value") {
    level_changed lost{.job = "web", .holds = false, .metric = "p95", .value = 0.3, .met = 0.25, .slack = -0.5};
    CHECK(plain_line({seconds(0), lost}) ==
          "[  0.0 s] web has lost its level: p95 0.3 on average, 25 % of the window met");
    lost.value = std::numeric_limits<double>::quiet_NaN();
    lost.met = 0;
    CHECK(plain_line({seconds(0), lost}) ==
          "[  0.0 s] web has lost its level: no p95 in its window, 0 % of the window met");
}

TEST_CASE("plain view: a line tells its time, and a later incarnation") {
    CHECK(plain_line({seconds(65), job_started{.job = "vae", .id = {}, .incarnation = 2, .pid = 5, .command = {}}}) ==
          "[   1:05] vae started as process 5, incarnation 2");
    CHECK(plain_line({seconds(0),
                      job_started{.job = "vae", .id = {}, .incarnation = 1, .pid = 5, .command = {}, .percent = 50}}) ==
          "[  0.0 s] vae started as process 5, with 50 % of its GPU");
    CHECK(
        plain_line(
            {seconds(0),
             job_ended{.job = "vae", .how = condition::failed, .exit_code = {}, .signal = {}, .why = "exit code 1"}}) ==
        "[  0.0 s] vae failed: exit code 1");
    CHECK(plain_line({seconds(0), resize_changed{.job = "vae",
                                                 .what = resize_step::verified,
                                                 .devices = {},
                                                 .why = "50 % of its GPU as a client of MPS"}}) ==
          "[  0.0 s] vae has 50 % of its GPU as a client of MPS (verified)");
    run_started const begin{.policy = "mine.so",
                            .policy_version = "1",
                            .isolation = "in-process",
                            .cpus = 1,
                            .tick = {},
                            .file = {},
                            .source = {},
                            .machine = {},
                            .controls = {}};
    CHECK(plain_line({seconds(0), begin}) == "[  0.0 s] policy mine.so (in this process) shares 1 core");
    CHECK(plain_line({seconds(4000), warning{.subject = "", .message = "a\x1b[2Jb"}}) == "[1:06:40] warning: a?[2Jb");
}

TEST_CASE("plain view: the status line has the jobs that are alive") {
    job_view running;
    running.name = "vae";
    running.now = condition::running;
    running.metric = "loss";
    running.value = 121.34;
    running.held = millicores{500};
    running.used = 0.494;
    job_view silent = running;
    silent.name = "mlp";
    silent.now = condition::silent;
    silent.detail = "for 65 s";
    silent.held.reset();
    silent.value.reset();
    job_view over = running, waiting = running;
    over.now = condition::finished;
    waiting.now = condition::waiting;
    view_model const m{.policy = "p",
                       .backend = "",
                       .elapsed = seconds(65),
                       .cpus = 2,
                       .used = 1.85,
                       .jobs = {running, over, silent, waiting},
                       .notice = {}};
    CHECK(status_line(m) ==
          "[   1:05] 1.85 of 2 cores used; vae loss 121.3, holds 0.50, uses 0.49; mlp loss -, holds -, uses 0.49, "
          "silent: for 65 s");
}

TEST_CASE("plain view: what a job with devices holds is their number, and to which it goes") {
    job_view job;
    job.devices = job.going_to = 2;
    CHECK(held_text(job) == "2 dev");
    job.going_to = 4;
    CHECK(held_text(job) == "2>4 dev");
}

TEST_CASE("plain view: of a change of size its end is told") {
    resize_changed reported{.job = "vae",
                            .incarnation = 2,
                            .what = resize_step::settled,
                            .from = 4,
                            .to = 1,
                            .devices = "cpu-0",
                            .why = ""};
    auto const line = [&](resize_step what) {
        reported.what = what;
        return plain_line({{}, reported}).substr(10);
    };
    CHECK(line(resize_step::settled) == "vae runs on 1 device instead of 4");
    CHECK(line(resize_step::restored) == "vae runs on 1 device again");
    CHECK(line(resize_step::queued) == "vae is saved and waits for devices");
    CHECK(
        plain_line({{}, resize_changed{.job = "vae", .what = resize_step::saving, .devices = "", .why = ""}}).empty());
    reported.from = 0;
    CHECK(line(resize_step::settled) == "vae runs on 1 device");
    reported.why = "verified";
    CHECK(line(resize_step::settled) == "vae runs on 1 device (verified)");
    reported.from = 1;
    CHECK(line(resize_step::settled) == "vae runs on 1 device (verified)");
    reported.why = "it does not say which devices it sees";
    CHECK(line(resize_step::unverified) == "vae is not verified: it does not say which devices it sees");
}

TEST_CASE("plain view: a delivered model is a line with its step and its folder") {
    CHECK(plain_line(
              {seconds(0),
               delivered{.job = "vae", .incarnation = 1, .step = 1200, .files = 2, .folder = "/out/vae.acceptable"}})
              .find("vae is delivered: checkpoint of step 1200 in /out/vae.acceptable") != std::string::npos);
}

TEST_CASE("plain view: a device that is cordoned, and is back") {
    device_changed reported{.device = "GPU-1", .what = device_change::cordoned, .why = "the driver reports Xid 79"};
    CHECK(plain_line({{}, reported}).substr(10) ==
          "warning: GPU-1 is withheld from jobs for a while: the driver reports Xid 79");
    reported.what = device_change::back;
    CHECK(plain_line({{}, reported}).substr(10) == "GPU-1 is given to jobs again");
    view_model model;
    model.devices = 4;
    model.devices_held = 3;
    CHECK(status_line(model).find("3 of 4 devices held") != std::string::npos);
    CHECK(status_line(model).find("aside") == std::string::npos);
    model.cordoned_devices = 1;
    CHECK(status_line(model).find("3 of 4 devices held, 1 cordoned") != std::string::npos);
    CHECK(render(model, 100, 10, {.unicode = false, .colour = false}).find("3 of 4 devices, 1 cordoned") !=
          std::string::npos);
}
