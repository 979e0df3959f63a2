// SPDX-License-Identifier: BSL-1.0
/// The worker process: loads one plugin in a sandbox, or makes a policy of its program, and answers ticks until
/// its host ends.
///
/// A program that is a worker calls `worker_main`. The host's side is worker_policy.hpp.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/changes.hpp>
#include <ration/plugin/host/change_lists.hpp>
#include <ration/plugin/host/compiled_in.hpp>
#include <ration/plugin/host/library.hpp>
#include <ration/plugin/host/live_instance.hpp>
#include <ration/plugin/host/readable_files.hpp>
#include <ration/plugin/host/resource_names.hpp>
#include <ration/plugin/host/sandbox.hpp>
#include <ration/plugin/host/worker_layout.hpp>
#include <ration/plugin/host/worker_log.hpp>

namespace ration::plugin {
namespace detail {

/// Maps a file that the host has passed on.
[[nodiscard]] inline mapping map_whole(int fd, int protection) noexcept {
    struct stat about{};
    return ::fstat(fd, &about) == 0 ? mapping(fd, static_cast<std::size_t>(about.st_size), protection) : mapping{};
}

/// Decides how often the state is saved while requests follow each other: after every answer if
/// that takes nanoseconds; otherwise so that saving takes about 1/256 of the time, but at least
/// once a second.
class save_interval_rule {
    static constexpr nanoseconds always{2000}, longest = seconds(1), most_patient = milliseconds(5);
    nanoseconds begun_{}, ended_{}, takes_{};

public:
    /// True if the state has to be saved now.
    [[nodiscard]] bool due() const noexcept {
        return takes_ <= always || monotonic_now() - ended_ >= std::min(nanoseconds{takes_.count * 256}, longest);
    }
    /// Time without a request after which there is time to save. A request that comes during the
    /// save has to wait for it.
    [[nodiscard]] nanoseconds patience() const noexcept { return std::clamp(takes_, short_wait, most_patient); }
    /// A save begins.
    void begin() noexcept { begun_ = monotonic_now(); }
    /// A save has ended. One that was interrupted by other processes takes long once; it counts at
    /// most eight times the last one.
    void end() noexcept {
        ended_ = monotonic_now();
        takes_ = std::min(ended_ - begun_, std::max(nanoseconds{takes_.count * 8}, always));
    }
};

/// The worker's side of the shared files.
class worker {
    mapping brief_map_ = map_whole(brief_fd, PROT_READ), input_ = map_whole(input_fd, PROT_READ),
            output_ = map_whole(output_fd, PROT_READ | PROT_WRITE), columns_;
    worker_brief brief_{};
    std::vector<column_info> schema_;
    std::string_view resource_names_, config_;
    std::span<std::byte const> state_;
    std::vector<void const*> slots_;
    table_view tables_[table_count];
    table_view const* shown_[table_count] = {};
    change_lists lists_;
    table_changes listed_[table_count] = {};
    table_changes const* shown_changes_[table_count] = {};
    bool follows_changes_ = false;          // the plugin gets the lists
    std::uint32_t kept_ = 0, written_ = 1;  // slots for the state: the one to keep, and the last one written
    bool saved_ = true;                     // the state after the last answer is saved
    save_interval_rule save_interval_;
    std::uint64_t number_ = 0;   // of the last tick
    std::uint64_t changes_ = 0;  // number of rows that the plugin reports as changed
    ration_changed_rows changed_{};
    // The request whose answer is in the grants, as reported to the host; 0 = none
    std::uint32_t reported_ = 0;
    // First rows that are as the host has them, if it still has that answer
    std::uint64_t same_ = 0;

    /// The request of the host.
    [[nodiscard]] worker_request const& request() const noexcept {
        return *reinterpret_cast<worker_request const*>(input_.data());
    }
    /// The reply of this worker.
    [[nodiscard]] worker_reply& reply() const noexcept { return *reinterpret_cast<worker_reply*>(output_.data()); }
    /// The offsets in `output`.
    [[nodiscard]] output_layout places() const noexcept { return {brief_.most_grants, brief_.state_capacity}; }

public:
    /// Reads the brief. Returns false if this process was not started by a host.
    [[nodiscard]] bool read_brief() noexcept {
        if (!brief_map_ || !input_ || !output_ || brief_map_.bytes().size() < sizeof brief_) return false;
        std::memcpy(&brief_, brief_map_.data(), sizeof brief_);
        if (brief_.columns_size != 0) {
            columns_ = map_whole(columns_fd, PROT_READ);
            if (!columns_) return false;
        }
        std::size_t at = on_line(sizeof brief_);
        schema_.resize(brief_.columns);
        if (!schema_.empty()) std::memcpy(schema_.data(), brief_map_.data() + at, schema_.size() * sizeof(column_info));
        at += on_line(schema_.size() * sizeof(column_info));
        auto const next_text = [&](std::uint64_t size) {
            std::string_view const text{reinterpret_cast<char const*>(brief_map_.data()) + at, size};
            at += on_line(size);
            return text;
        };
        resource_names_ = next_text(brief_.names_size);
        config_ = next_text(brief_.config_size);
        state_ = {brief_map_.data() + at, brief_.state_size};
        lists_ = change_lists(brief_.lists_at, {.jobs = brief_.most_jobs, .nodes = brief_.most_nodes});
        return true;
    }

    /// Numbers the columns of all tables consecutively.
    void number_columns() noexcept {
        slots_.resize(schema_.size());
        for (std::size_t i = 0; i < schema_.size(); ++i) schema_[i].slot = static_cast<std::uint32_t>(i);
        for (std::size_t i = 0; i < table_count; ++i) {
            tables_[i].slots = static_cast<std::uint32_t>(slots_.size());
            tables_[i].slot = slots_.data();
            shown_[i] = &tables_[i];
            shown_changes_[i] = &listed_[i];
        }
    }

    /// Answers the start. Returns the exit code of the process.
    [[nodiscard]] int answer(std::int32_t code, std::string_view sentence) noexcept {
        auto& r = reply();
        std::size_t const length = sentence.size() < sizeof r.sentence ? sentence.size() : sizeof r.sentence - 1;
        std::memcpy(r.sentence, sentence.data(), length);
        r.sentence[length] = '\0';
        r.code = code;
        publish(1);
        return code == RATION_OK ? EXIT_SUCCESS : EXIT_FAILURE;
    }

    /// Makes the reply visible to the host, and wakes it.
    void publish(std::uint32_t sequence) noexcept {
        reply().core.store(present_core(), std::memory_order_relaxed);
        reply().sequence.store(sequence, std::memory_order_release);
        wake(reply().sequence);
    }

    /// Makes the instance and serves requests: of the plugin, or of the policy in this program that `compiled_in`
    /// makes, if it is not null. Returns only after a failure or a trial.
    [[nodiscard]] int run(policy_maker const* compiled_in) {
        if (!lives_with_host()) return EXIT_FAILURE;
        changed_ = {sizeof changed_,
                    0,
                    places().most_changed,
                    &changes_,
                    reinterpret_cast<std::uint32_t*>(output_.data() + places().changed),
                    &reply().written};
        worker_log_writer log(reply().log);
        return compiled_in == nullptr ? run_plugin(log) : run_compiled_in(*compiled_in, log);
    }

private:
    /// The kernel kills the worker once the host's end of the pipe is closed, whatever code runs then. The death signal
    /// of prctl(2) would already come at the end of the thread that started the worker. False if the host has ended.
    [[nodiscard]] bool lives_with_host() const noexcept {
        return ::fcntl(host_fd, F_SETOWN, ::getpid()) == 0 && ::fcntl(host_fd, F_SETSIG, SIGKILL) == 0 &&
               ::fcntl(host_fd, F_SETFL, O_ASYNC) == 0 && ::getppid() == brief_.host;
    }

    [[nodiscard]] bool shut_in() noexcept {
        auto const shared = brief_.input_size + brief_.output_size + brief_.columns_size;
        return enter_sandbox({.shared_bytes = shared, .threads = brief_.threads != 0, .kept_open = host_fd});
    }

    /// Enters the sandbox and loads the plugin.
    [[nodiscard]] int run_plugin(worker_log_writer& log) {
        auto copy = sealed_copy::reattach(descriptor(plugin_fd));
        if (!shut_in())
            return answer(RATION_E_UNSUPPORTED, "this kernel has no seccomp filters, so a worker cannot be shut in");
        auto file =
            copy ? plugin_file::check(std::move(copy).value(), "the passed file") : result<plugin_file>(copy.failure());
        if (!file) return answer(RATION_E_UNSUPPORTED, file.failure().remedy);
        if (readable_files files; !files.enforce_for(file->facts))
            return answer(RATION_E_UNSUPPORTED,
                          "this kernel has Landlock and refuses it, so a worker could read every file");
        std::string message;
        auto code = library::load(std::move(file).value(), &message);
        if (!code)
            return answer(RATION_E_UNSUPPORTED, message.empty() ? std::string_view(code.failure().remedy) : message);
        live_instance live(*code, log.as_sink(), &changed_);
        return start(live, log);
    }

    /// Runs also where the kernel has no sandbox: the host trusts its own code, and the process bounds a crash. A
    /// sanitizer looks at objects through a pipe, which the sandbox would refuse.
    [[nodiscard]] int run_compiled_in(policy_maker const& make, worker_log_writer& log) {
        if (RATION_SANITIZED)
            detail::let_crashes_be_crashes();
        else if (shut_in())
            static_cast<void>(readable_files().enforce_for({}));
        compiled_in_instance live(make, &changed_);
        return start(live, log);
    }

    // `Instance` is a live_instance or a compiled_in_instance.

    /// Creates and binds the instance, and answers the start.
    template <class Instance>
    [[nodiscard]] int start(Instance& live, worker_log_writer& log) noexcept {
        auto const finish_start = [&](std::int32_t result) { return answer(result, live.sentence()); };
        if (auto const made = live.create(config_); made != RATION_OK || brief_.create_only != 0)
            return finish_start(made);
        number_columns();
        follows_changes_ = live.follows_changes();
        auto const resources = resources_named(resource_names_);
        limits const most{.jobs = brief_.most_jobs,
                          .nodes = brief_.most_nodes,
                          .resources = brief_.most_resources,
                          .tenants = brief_.most_tenants,
                          .resource_table = resources.empty() ? nullptr : resources.data()};
        if (auto const bound = live.bind(schema_, most); bound != RATION_OK) return finish_start(bound);
        // The plugin starts without state, and the host reports it
        if (!state_.empty() && live.load(state_) != RATION_OK) reply().state_lost = 1;
        static_cast<void>(finish_start(RATION_OK));
        return serve(live, log);
    }

    /// Answers requests until the process is killed.
    template <class Instance>
    [[nodiscard]] int serve(Instance& live, worker_log_writer& log) noexcept {
        for (std::uint32_t done = 1;;) {
            await(live, done);
            std::uint32_t const sequence = request().sequence.load(std::memory_order_acquire);
            log.forget(request().log_read);
            std::uint32_t const events = request().events;
            live.on_events({request().event_at, events < most_worker_events ? events : most_worker_events});
            if (request().accepted != 0 && saved_) kept_ = written_;
            number_ = request().number;  // read now: the next request may overwrite it
            bool const save = request().save != 0;
            tick(live, sequence);
            saved_ = false;
            publish(done = sequence);
            if (save || save_interval_.due()) save_state(live, done);
        }
    }

    /// Waits for the next request. If none comes for a while, the state is saved meanwhile.
    template <class Instance>
    void await(Instance& live, std::uint32_t done) noexcept {
        while (request().sequence.load(std::memory_order_acquire) == done) {
            if (!saved_) {
                if (!comes_within(save_interval_.patience(), done)) save_state(live, done);
            } else if (is_on_this_core(request().core) || !spin_while(request().sequence, done, short_wait, [] {})) {
                sleep(seconds(1), done);
                // A child of a host that is gone may have the other end of the pipe open
                if (request().sequence.load(std::memory_order_acquire) == done && ::getppid() != brief_.host)
                    ::_exit(EXIT_FAILURE);
            }
        }
    }
    /// Waits for a request, awake unless the host needs this core. Returns false if none comes.
    [[nodiscard]] bool comes_within(nanoseconds at_most, std::uint32_t done) noexcept {
        if (!is_on_this_core(request().core)) return spin_while(request().sequence, done, at_most, [] {});
        sleep(at_most, done);
        return request().sequence.load(std::memory_order_acquire) != done;
    }
    /// Sleeps until the host sends a request, or for `at_most`.
    void sleep(nanoseconds at_most, std::uint32_t done) noexcept {
        // Sequentially consistent on both sides: either the host sees this flag, or the wait sees its request
        reply().asleep.store(1);
        wait_while(request().sequence, done, at_most);
        reply().asleep.store(0);
    }

    /// The rows that the host lists as changed; null for a plugin that does not follow them.
    [[nodiscard]] ration_changes const* const* changes_of(worker_request const& asked) noexcept {
        if (!follows_changes_) return nullptr;
        for (std::size_t i = 0; i < table_count; ++i)
            listed_[i] = lists_.read(static_cast<table_id>(i), asked.changes[i], asked.rows[i], input_.data());
        return reinterpret_cast<ration_changes const* const*>(shown_changes_);
    }

    /// Decides one tick, and writes the reply except its sequence number.
    template <class Instance>
    void tick(Instance& live, std::uint32_t sequence) noexcept {
        auto const& asked = request();
        for (std::size_t i = 0; i < table_count; ++i) tables_[i].rows = asked.rows[i];
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            std::uint64_t const place = asked.place[i];
            slots_[i] = (place & in_columns) != 0 ? columns_.data() + (place - in_columns) : input_.data() + place;
        }
        ration_tick t = live.blank_tick();
        t.number = asked.number;
        t.seed = asked.seed;
        t.now_ns = asked.now;
        t.budget_ns = asked.budget;
        t.cancel = &asked.cancel;
        t.table = tables_of({shown_});
        t.changes = changes_of(asked);
        auto* const space = reinterpret_cast<ration_grant*>(output_.data() + places().grants);
        std::uint64_t const capacity = std::min(asked.capacity, brief_.most_grants);
        // Changes can be listed only relative to an answer that both sides have.
        bool const known = reported_ != 0 && asked.known == reported_;
        ration_out out{sizeof out, 0, capacity, 0, 0, space};
        changes_ = all_rows;
        changed_.capacity = known ? std::min(most_listed(same_), places().most_changed) : 0;
        float_modes const modes;
        auto& r = reply();
        r.code = live.decide(t, out);
        r.meddled = modes.restore(t.number) ? 1 : 0;
        r.changed =
            out.struct_size != sizeof out || out.flags != 0 || out.capacity != capacity || out.grant != space ? 1 : 0;
        r.count = out.count;
        r.changed_rows = known && changes_ <= changed_.capacity && out.count <= same_ ? changes_ : all_rows;
        r.written_again = r.written == changed_rows::rewritten ? 1 : 0;
        r.written = 0;
        reported_ = r.code == RATION_OK ? sequence : 0;
        if (r.changed_rows == all_rows) same_ = out.count;
    }

    /// Saves the state. It runs after the answer is published, so the tick does not pay for it. The
    /// slot to keep is never overwritten.
    template <class Instance>
    void save_state(Instance& live, std::uint32_t sequence) noexcept {
        // The other slot has the state after the last accepted answer.
        written_ = 1 - kept_;
        auto& r = reply();
        r.state_size[written_] = 0;
        save_interval_.begin();
        std::size_t const size = live.save({output_.data() + places().state(written_), brief_.state_capacity});
        save_interval_.end();
        saved_ = true;
        if (size != 0 && size <= brief_.state_capacity) {
            r.state_tick[written_] = number_;
            std::atomic_ref(r.state_size[written_]).store(size, std::memory_order_release);
        }
        r.kept.store(sequence, std::memory_order_release);
    }
};

}  // namespace detail

/// The whole of a worker program: `int main() { return ration::plugin::worker_main(); }`. Exit code
/// 2 if it was not started by a host.
[[nodiscard]] inline int worker_main() {
    detail::worker self;
    if (!self.read_brief()) return 2;
    std::_Exit(self.run(nullptr));  // no code of the plugin runs at the end: neither destructors nor atexit functions
}

/// The same for a policy of this program, for a host that called `open_compiled_in`. The sandbox has to allow the code
/// that runs after `make`: memory and time only.
[[nodiscard]] inline int worker_main(policy_maker const& make) {
    detail::worker self;
    if (!self.read_brief()) return 2;
    std::_Exit(self.run(&make));
}

}  // namespace ration::plugin
