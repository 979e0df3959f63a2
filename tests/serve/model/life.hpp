// SPDX-License-Identifier: BSL-1.0
/// One life of the service: its real queue, list and API, with the processes and the record of a model.
#pragma once

#include <cerrno>
#include <fmt/format.h>
#include <poll.h>
#include <set>
#include <sys/socket.h>
#include <sys/un.h>
#include <utility>
#include <vector>

#include <ration/process/proc.hpp>

#include "serve/api_server.hpp"
#include "serve/configuration.hpp"
#include "serve/job_queue.hpp"
#include "serve/model/world.hpp"
#include "serve/recovery.hpp"

namespace model {

using namespace ration;
using namespace ration::program;

template <class T>
[[nodiscard]] T value_of(result<T> what, char const* operation) {
    require(static_cast<bool>(what), operation);
    return std::move(what).value();
}

/// The run of the earlier life, by its record.
[[nodiscard]] inline std::optional<orphaned_run> earlier_run() {
    orphaned_run out{.record = {}, .traces = {}, .damage = {}, .alive = {}, .folder = {"", process::descriptor()}};
    for (auto const& one : world::shared().jobs) {
        if (!one.in_record) continue;
        auto const label = label_of(name_of(world::shared().number_of(one)), one.listed);
        out.record.jobs.emplace_back().name = label;
        if (one.alive) out.alive.push_back({label, label});
    }
    return world::shared().has_record ? std::optional(std::move(out)) : std::nullopt;
}

/// A connection of the client: the request leaves before a turn, and the answer comes in it or, after a commit, in one
/// of the next.
class request {
    process::descriptor socket_;
    bool sent_ = false;

public:
    request(service_folder const& folder, char const* method, std::string const& path, std::string const& body)
        : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        folder.socket().copy(address.sun_path, sizeof address.sun_path - 1);
        require(::connect(socket_.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0, "connect");
        auto const text =
            fmt::format("{} {} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", method, path, body.size(), body);
        sent_ = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
        require(sent_, "send");
    }

    /// The number of the job in an answer of success; 0: another answer; none: no answer yet.
    [[nodiscard]] std::optional<std::int64_t> job() const {
        std::array<char, 65536> text{};
        auto const size = ::recv(socket_.get(), text.data(), text.size() - 1, MSG_DONTWAIT);
        if (size < 0 && errno == EAGAIN) return std::nullopt;
        require(size > 0, "a request got no answer");
        std::string_view const answer(text.data());
        if (!answer.starts_with("HTTP/1.1 2")) return 0;
        auto const at = answer.find("{\"id\":");
        require(at != answer.npos, "an answer has no job");
        return std::atoll(answer.data() + at + 6);
    }
};

class life {
    struct wanted_request {
        job* of;
        char what;  // submit, cancel, pause, resume
        request sent;
        int commits = 0;  // that have ended since
    };
    service_folder folder_;
    std::mt19937 rng_;
    bool calm_;  // no crash, and all jobs come to their end
    job_store store_;
    job_list list_;
    recovered earlier_;
    run_config config_;
    host_devices devices_;
    job_table table_;
    std::vector<training_progress> progress_;
    service_control control_;
    service_api api_;
    api_server server_;
    event_streams events_;
    end_hooks hooks_;
    job_queue queue_;
    std::optional<wanted_request> asked_;
    std::set<std::string> stopping_;
    nanoseconds now_{};

public:
    life(service_folder const& folder, unsigned seed, bool calm)
        : folder_(folder), rng_(seed), calm_(calm), store_(value_of(job_store::open(folder.database(), 1), "open")),
          list_(value_of(job_list::open(folder.database()), "open to read")),
          earlier_(value_of(settle_jobs(store_, folder, earlier_run()), "settle the jobs")),
          config_(config_with(earlier_.launched, folder)), devices_(host_devices::find(config_)),
          table_(config_.jobs, {.cpu = {2000}, .memory = {}, .tenants = {}, .open = true}, 3),
          progress_(initial_progress(table_.jobs())),
          control_(store_, list_, {config_, devices_, {2000}}, {.policy = "equal_share", .folder = {}}, {}),
          api_(store_, list_, folder, control_), server_(entrances_at(folder)),
          events_(value_of(stage_log::open(folder.database()), "open the log")), hooks_(store_, folder, {"true"}),
          queue_(store_, api_, control_, server_, events_, hooks_, folder, 3) {
        reattach();
    }

    void turn() {
        now_ = now_ + milliseconds(300);
        world::shared().clock_ms += 400'000;  // more than the longest rest between two launches
        for (auto& [config, incarnations] : queue_.admit(table_.free_slots(), now_)) add(config, incarnations);
        table_.arrive(now_);
        for (auto& one : table_.jobs())
            if (one.waiting() && table_.arrived(one) && queue_.may_launch(one)) launch(one);
        age(rng_, folder_);
        for (auto& one : table_.jobs())
            if (one.alive()) observe(one);
        if (!asked_) asked_ = next_request();
        auto const orders =
            queue_.take_turn(table_, progress_, [](policy_change&) { return result<void>(); }, hook_room(), now_);
        follow(orders);
        if (asked_ && take_answer(*asked_)) asked_.reset();
        if (rng_() % 4 != 0) wait_for_disk();
    }

private:
    [[nodiscard]] static run_config config_with(std::vector<stored_job> const& launched, service_folder const& folder) {
        run_config config;
        add_jobs(launched, folder, config);
        return config;
    }

    [[nodiscard]] static std::vector<entrance> entrances_at(service_folder const& folder) {
        std::vector<entrance> out;
        out.push_back({value_of(listening_socket::open(unix_endpoint{folder.socket()}), "listen"), access_rules(), {}});
        return out;
    }

    void wait_for_disk() {
        if (!store_.commits()) return;
        pollfd done{.fd = store_.commit_fd(), .events = POLLIN, .revents = 0};
        require(::poll(&done, 1, 60'000) == 1, "a commit does not end");
        if (asked_) require(++asked_->commits <= 2, "a request was not answered after its commit");
    }

    void may_crash() {
        if (!calm_ && rng_() % 24 == 0) ::_exit(crashed);
    }

    /// As reattachment.cpp.
    void reattach() {
        world::shared().has_record = true;
        for (auto& one : world::shared().jobs) one.in_record &= is_launched(one.listed);
        for (auto& job : earlier_.launched) queue_.restore(std::move(job));
        table_.arrive(now_);
        for (auto& one : table_.jobs()) {
            auto& seen = job_labelled(one.config->name);
            one.run.value = static_cast<std::uint32_t>(seen.recorded);
            if (seen.launching && !seen.launched) {
                one.run.value -= 1;
                continue;
            }
            run(one);
            if (seen.alive) continue;
            one.process.reset();
            auto const end = queue_.end_of(one);
            end ? take_exit(one, *end) : end_as(one, condition::failed);
        }
    }

    [[nodiscard]] bool is_launched(std::int64_t id) const {
        return std::ranges::find(earlier_.launched, id, &stored_job::id) != earlier_.launched.end();
    }

    void add(std::shared_ptr<job_config const> config, std::uint32_t incarnations) {
        auto const& one = table_.add(std::move(config), incarnations);
        training_progress fresh(one.config->target);
        if (one.slot < progress_.size())
            progress_[one.slot] = fresh;
        else
            progress_.push_back(fresh);
    }

    /// As job_launcher.cpp: the record comes first.
    void launch(live_job& one) {
        auto& seen = job_labelled(one.config->name);
        one.run.value += 1;
        seen.listed = std::atoll(one.config->name.substr(one.config->name.find('-') + 1).c_str());
        seen.in_record = seen.launching = true;
        seen.launched = false;
        seen.recorded = one.run.value;
        may_crash();
        auto const noted = value_of(list_.find(seen.listed), "read a job");
        require(noted && noted->now == stage::deploying && noted->incarnation == one.run.value,
                "a process begins before its launch is on the disk");
        require(!seen.alive, "a job runs twice");
        require(!seen.cancelled, "a cancelled job is launched");
        require(!seen.must_wait, "a paused job is launched");
        require(!seen.ended_well, "a job that has ended well is launched again");
        require(seen.disturbed() || seen.failures <= seen.retries, "a job has more launches than retries");
        seen.alive = seen.launched = true;
        seen.incarnation = one.run.value;
        ++seen.launches;
        may_crash();
        seen.launching = false;
        run(one);
    }

    void run(live_job& one) {
        auto const self = process::read_process(::getpid());
        require(self.has_value(), "read this process");
        one.process = value_of(process::attach(self->pid, self->start_time), "attach");
        one.now = condition::running;
        one.launched_at = now_;
        one.token = "token";
    }

    /// Its reports and its end.
    void observe(live_job& one) {
        auto const& seen = job_labelled(one.config->name);
        using progress::phase;
        constexpr std::array phases{phase::load, phase::train, phase::save, phase::eval};
        if (seen.alive && rng_() % 2 == 0)
            queue_.handle(one, {.type = progress::message_type::phase, .now = phases[rng_() % phases.size()]});
        if (seen.alive) return;
        auto how = queue_.end_of(one).value_or(process::exit_report());
        if (seen.exit_code < 0 && rng_() % 2 == 0) how = {.how = process::exit_report::kind::killed, .number = 9};
        take_exit(one, how);
    }

    /// As exit_classifier.cpp.
    void take_exit(live_job& one, process::exit_report const& how) {
        bool const unknown = how.how == process::exit_report::kind::unknown;
        bool const stopped = stopping_.contains(one.config->name);
        bool const good = unknown ? !queue_.records_ends() : how.success();
        end_as(one, stopped ? condition::stopped : good ? condition::finished : condition::failed);
    }

    void end_as(live_job& one, condition how) {
        one.now = how;
        one.ended_at = now_;
        stopping_.erase(one.config->name);
    }

    void follow(turn_orders const& orders) {
        for (auto const id : orders.stop) {
            auto& one = table_.job(id);
            if (one.alive())
                stopping_.insert(one.config->name);
            else if (!one.over())
                end_as(one, condition::stopped);
        }
        for (auto const& call : orders.hooks) ++job_labelled(call.job).hooks;
        for (auto const id : orders.forget) {
            auto& one = table_.job(id);
            auto& seen = job_labelled(one.config->name);
            table_.forget(one);
            may_crash();
            seen.in_record = false;
        }
    }

    [[nodiscard]] std::optional<wanted_request> next_request() {
        if (!calm_ && rng_() % 3 == 0) return std::nullopt;
        auto& one = world::shared().jobs[rng_() % most_jobs];
        if (one.id == 0 || (!calm_ && rng_() % 6 == 0)) return submit(one);
        if (calm_) return one.pause_sent ? std::optional(ask(one, 'r', "POST", "/resume")) : std::nullopt;
        switch (rng_() % 6) {
            case 0: one.cancel_sent = true; return ask(one, 'c', "DELETE", "");
            case 1:
            case 2: one.pause_sent = true; return ask(one, 'p', "POST", "/pause");
            case 3: return ask(one, 'r', "POST", "/resume");
            default: return std::nullopt;
        }
    }

    [[nodiscard]] wanted_request ask(job& one, char what, char const* method, char const* action) const {
        if (what == 'r') one.must_wait = false;
        return {&one, what, request(folder_, method, fmt::format("/v1/jobs/{}{}", one.id, action), "")};
    }

    [[nodiscard]] std::optional<wanted_request> submit(job& one) {
        auto const number = world::shared().number_of(one);
        auto& before = world::shared().jobs[static_cast<std::size_t>(std::max(0, number - 1))];
        if (!one.submitted && number > 0 && before.id > 0 && rng_() % 3 == 0) one.after = number - 1;
        if (!one.submitted) one.retries = static_cast<int>(rng_() % 3);
        one.submitted = true;
        std::string body;
        json_writer json(body);
        json.object([&] {
            json.member("key", name_of(number));
            json.member("definition", fmt::format("[[job]]\nname = \"{}\"\ncommand = [\"true\"]\n"
                                                  "target = {{ loss = {{ objective = 0 }} }}\n",
                                                  name_of(number)));
            json.member("directory", "/");
            json.member("retries", one.retries);
            json.key("after").array([&] {
                if (one.after >= 0) json.value(before.id);
            });
        });
        return wanted_request{&one, 's', request(folder_, "POST", "/v1/jobs", body)};
    }

    /// Whether it has come.
    [[nodiscard]] static bool take_answer(wanted_request const& asked) {
        auto& one = *asked.of;
        auto const id = asked.sent.job();
        if (!id) return false;
        require(*id != 0 || asked.what == 'p' || asked.what == 'r', "a request was refused");
        if (*id == 0) return true;
        require(one.id == 0 || one.id == *id, "a key names two jobs");
        if (asked.what == 's') one.id = *id;
        if (asked.what == 'c') one.cancelled = true;
        if (asked.what == 'p') one.must_wait = true;
        return true;
    }
};

}  // namespace model
