// SPDX-License-Identifier: BSL-1.0
/// A plugin in a separate process. The host survives its crashes, hangs and wrong answers.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/plugin/host/fault.hpp>
#include <ration/plugin/host/library.hpp>
#include <ration/plugin/host/live_instance.hpp>
#include <ration/plugin/host/resource_names.hpp>
#include <ration/plugin/host/shared_file.hpp>
#include <ration/plugin/host/worker_answer.hpp>
#include <ration/plugin/host/worker_brief.hpp>
#include <ration/plugin/host/worker_channel.hpp>
#include <ration/plugin/host/worker_columns.hpp>
#include <ration/plugin/host/worker_layout.hpp>
#include <ration/plugin/host/worker_log.hpp>
#include <ration/plugin/host/worker_memory.hpp>
#include <ration/plugin/host/worker_options.hpp>
#include <ration/plugin/host/worker_process.hpp>

namespace ration::plugin {

/// A tick costs two context switches, a copy of the changed grants and, unless they are shared, one of the columns.
/// The rows stay in this object until the next tick. After a crash or a missed deadline the worker restarts after a
/// growing pause, with the state of its last accepted answer or one at most a second older.
class worker_policy final : public plugin_policy {
    enum class phase : std::uint8_t { down, starting, ready, off };

    plugin_file file_;
    std::string config_;
    worker_options options_;
    worker_process process_;
    worker_channel channel_;
    worker_columns columns_;
    std::string resource_names_;
    std::size_t most_grants_ = 0, state_capacity_ = 0;
    phase phase_ = phase::down;
    std::uint32_t log_read_ = 0;
    std::vector<event> events_;  // not sent yet
    worker_answer answer_;
    worker_memory memory_;
    std::uint64_t answered_ = 0;  // number of the tick
    bool last_taken_ = false;
    bool continues_ = false;  // the worker has answered the last tick, so the list of changes is relative to that
    nanoseconds pause_{}, started_{}, again_{};

public:
    worker_policy(plugin_file file, std::string_view config, worker_options options, log_sink log)
        : plugin_policy(file.manifest, log), file_(std::move(file)), config_(config), options_(std::move(options)),
          columns_(options_.columns), pause_(options_.first_pause) {}

    /// Tries the constructors and `create` once, in a worker that ends then. Errors: invalid_value with the plugin's
    /// own message; timed_out; io.
    [[nodiscard]] static result<std::unique_ptr<worker_policy>> create(plugin_file file, std::string_view config,
                                                                       worker_options options, log_sink log = {}) {
        auto made = std::make_unique<worker_policy>(std::move(file), config, std::move(options), log);
        if (auto const tried = made->try_out(); !tried) return tried.failure();
        return made;
    }

    [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }
    [[nodiscard]] bool ends_here() const noexcept override { return false; }
    void end() noexcept override {
        rest();
        phase_ = phase::off;
    }

    /// Starts a worker for this schema. Errors: those of `offers`; invalid_value with the plugin's own message;
    /// timed_out; io.
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        if (auto const good = offers(schema, described().manifest()); !good) return good;
        wait_for_state();
        keep_state();
        auto const needed = needs_of(described().manifest());
        columns_.bind(*needed, schema, most);
        resource_names_ = names_of_resources(most);
        most_grants_ = std::min<std::size_t>(most.grants(), 1U << 24);
        events_.reserve(2 * most_worker_events);
        memory_.reserve();
        answer_.reserve(most_grants_);
        state_capacity_ = on_line(std::min<std::size_t>(largest_state, 65536 + 256 * most.jobs));
        fault_.kind = fault_kind::none;
        auto const started = start(false);
        auto const ready = started ? wait_until_ready() : started;
        if (!ready && options_.may_start_later && fault_.kind != fault_kind::refused) return {};
        return ready;
    }

    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        fault_.kind = fault_kind::none;
        if (!process_.is_ours())
            return fail(fault_kind::absent, t.number, "belongs to the parent of this process: bind it again");
        if (phase_ == phase::down && monotonic_now() >= again_) static_cast<void>(start(false));
        if (phase_ == phase::starting) poll_ready();
        if (phase_ != phase::ready)
            return fail(fault_kind::absent, t.number,
                        answered_ == 0 ? "is not there yet: its worker cannot start"
                                       : "is not there: it is started again after a pause");
        ask(t, out.room());
        auto const fetch = [&, from = channel_.output(), room = out.room()] {
            answer_.fetch(from, channel_.layout(), room);
        };
        if (!channel_.wait(process_, std::max(options_.deadline, t.budget), fetch)) return give_up_on(t.number);
        return take_answer(t.number, out);
    }

    void on_events(std::span<event const> events) noexcept override {
        for (auto const& e : events) {
            if (e.kind == event_kind::grant_rejected) last_taken_ = false;
            // Either all events, or `state_lost`
            if (events_.size() == most_worker_events) events_.assign(1, {.kind = event_kind::state_lost, .at = e.at});
            events_.push_back(e);
        }
    }

    /// The state after the last accepted answer.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) noexcept override {
        wait_for_state();
        keep_state();
        auto const state = memory_.state();
        if (state.size() <= space.size() && !state.empty()) std::memcpy(space.data(), state.data(), state.size());
        return state.size();
    }
    /// Starts a new worker with this state.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept override {
        memory_.replace(saved);
        events_.clear();
        if (!start(false) || !wait_until_ready()) return status::internal;
        return channel_.reply().state_lost == 0 ? status::ok : status::state;
    }

private:
    [[nodiscard]] result<void> try_out() {
        if (auto const started = start(true); !started) return started;
        auto const ready = wait_until_ready();
        process_.kill();
        phase_ = phase::down;
        return ready;
    }

    /// Makes the worker's files, then the process, which is `starting` until its first answer.
    [[nodiscard]] result<void> start(bool create_only) noexcept {
        process_.kill();
        phase_ = phase::down;
        again_ = monotonic_now() + pause_;
        std::size_t const input_size = columns_.input_size();
        output_layout const layout(most_grants_, state_capacity_);
        auto const brief =
            channel_.open(input_size, layout) ? write_brief(create_only, input_size, layout.size()) : shared_file{};
        if (!brief)
            return error{.code = errc::io,
                         .operation = "share memory with the worker",
                         .subject = std::string_view(file_.path),
                         .system = errno,
                         .remedy = "free some memory"};
        int const files[] = {file_.copy.fd(), brief.fd.get(), channel_.input_fd(), channel_.output_fd(),
                             columns_.shared_fd()};
        auto process = worker_process::start(options_.program, std::span(files, columns_.shared_size() != 0 ? 5 : 4));
        if (!process) return process.failure();
        process_ = std::move(process).value();
        phase_ = phase::starting;
        started_ = monotonic_now();
        emit_again();
        answer_.forget();
        last_taken_ = false;
        continues_ = false;
        log_read_ = 0;
        return {};
    }

    void emit_again() noexcept {
        auto const again = memory_.untold();
        events_.insert(events_.begin(), again.begin(), again.end());
        if (events_.size() > most_worker_events)
            events_.assign(1, {.kind = event_kind::state_lost, .at = events_.back().at});
    }

    [[nodiscard]] shared_file write_brief(bool create_only, std::size_t input_size,
                                          std::size_t output_size) const noexcept {
        worker_brief const brief{
            .columns = columns_.schema().size(),
            .names_size = resource_names_.size(),
            .config_size = config_.size(),
            .state_size = create_only ? 0 : memory_.state().size(),
            .most_jobs = columns_.most().jobs,
            .most_nodes = columns_.most().nodes,
            .most_resources = columns_.most().resources,
            .most_grants = most_grants_,
            .most_tenants = columns_.most().tenants,
            .input_size = input_size,
            .output_size = output_size,
            .state_capacity = state_capacity_,
            .columns_size = columns_.shared_size(),
            .lists_at = columns_.lists_at(),
            .create_only = create_only ? 1U : 0U,
            .threads = options_.threads && (file_.manifest.flags & RATION_F_OWN_THREADS) != 0 ? 1U : 0U,
            .host = ::getpid()};
        return share_brief(brief, columns_.schema(), resource_names_, config_, memory_.state());
    }

    [[nodiscard]] result<void> wait_until_ready() noexcept {
        while (phase_ == phase::starting) {
            wait_while(channel_.reply().sequence, 0, milliseconds(5));
            poll_ready();
        }
        if (phase_ == phase::ready) return {};
        phase_ = phase::down;
        return error{.code = fault_.kind == fault_kind::late ? errc::timed_out : errc::invalid_value,
                     .operation = start_operation,
                     .subject = fault_.what.view()};
    }

    void poll_ready() noexcept {
        if (channel_.reply().sequence.load(std::memory_order_acquire) == 1) {
            if (channel_.reply().code == RATION_OK) {
                phase_ = phase::ready;
                read_log();
                return;
            }
            char sentence[sizeof(worker_reply::sentence)];
            std::memcpy(sentence, channel_.reply().sentence, sizeof sentence);
            std::size_t const length = ::strnlen(sentence, sizeof sentence);
            static_cast<void>(fail(fault_kind::refused, 0,
                                   length == 0 ? text_of(channel_.reply().code) : std::string_view(sentence, length)));
        } else if (!process_.alive()) {
            static_cast<void>(fail(fault_kind::died, 0, text<120>("its worker ").append(process_.end())));
        } else if (monotonic_now() - started_ > options_.to_start) {
            static_cast<void>(fail(fault_kind::late, 0, "did not finish load, create and bind in time"));
        } else {
            return;
        }
        rest();
    }

    /// Stops the worker for a pause that doubles each time; for good after the longest pause.
    void rest() noexcept {
        process_.kill();
        read_log();  // its last messages
        phase_ = pause_ > options_.longest_pause ? phase::off : phase::down;
        again_ = monotonic_now() + pause_;
        pause_ = {pause_.count * 2};
    }

    void ask(tick_data const& t, std::size_t capacity) noexcept {
        auto& r = channel_.request();
        r.number = t.number;
        r.seed = t.seed;
        r.now = t.now.count;
        r.budget = t.budget.count;
        r.cancel = 0;
        r.capacity = capacity;
        for (std::size_t i = 0; i < table_count; ++i) r.rows[i] = t.data.tables[i]->rows;
        columns_.show(t.data, std::exchange(continues_, false) ? t.changes : nullptr, r, channel_.input());
        r.log_read = std::exchange(log_read_, 0);
        r.accepted = last_taken_ ? 1 : 0;
        if (std::exchange(last_taken_, false)) memory_.accept(answered_);  // once: the next answer may be refused
        r.events = static_cast<std::uint32_t>(events_.size());
        std::copy(events_.begin(), events_.end(), r.event_at);
        memory_.emit(events_, t.number, t.now);
        events_.clear();
        r.known = answer_.await();
        r.save = memory_.wants_state() ? 1 : 0;
        channel_.send();
    }

    [[nodiscard]] status give_up_on(std::uint64_t tick) noexcept {
        bool const late = process_.alive();
        keep_state();
        rest();
        if (late) return fail(fault_kind::late, tick, "did not answer before its deadline", status::deadline);
        return fail(fault_kind::died, tick, text<120>("its worker ").append(process_.end()));
    }

    /// A late answer could be mistaken for that of the next tick, so a new worker is started.
    [[nodiscard, gnu::cold, gnu::noinline]] status out_of_step(std::uint64_t tick) noexcept {
        keep_state();
        rest();
        return fail(fault_kind::malformed, tick, "answered a tick that was not asked");
    }

    void read_log() noexcept {
        if (channel_.is_open()) log_read_ = read_worker_log(channel_.reply().log, log_read_, log_);
    }

    [[nodiscard]] status take_answer(std::uint64_t tick, grants& out) noexcept {
        if (channel_.reply().log.size.load(std::memory_order_relaxed) != 0) read_log();
        auto const& r = channel_.reply();
        std::int32_t const code = once(r.code);
        if (!channel_.is_answered()) return out_of_step(tick);
        memory_.see_saved(r);
        if (once(r.changed) != 0)
            return fail(fault_kind::malformed, tick, "changed a field of the answer that belongs to the host");
        if (once(r.meddled) != 0) return fail(fault_kind::malformed, tick, "changed the floating-point modes");
        if (code != RATION_OK) return fail(fault_kind::refused, tick, text_of(code), known_status(code));
        if (auto const wrong = answer_.take(channel_.output(), channel_.layout(), channel_.sequence(), out.room());
            !wrong.empty())
            return fail(fault_kind::malformed, tick, wrong);
        show(out);
        answered_ = tick;
        last_taken_ = continues_ = true;
        pause_ = options_.first_pause;
        return status::ok;
    }

    void show(grants& out) const noexcept {
        auto const rows = answer_.rows();
        if (out.show(rows)) return;
        std::ranges::copy(rows, out.unused().begin());
        out.commit(rows.size());
    }

    void wait_for_state() noexcept {
        if (phase_ != phase::ready || !last_taken_ || !process_.is_ours()) return;
        memory_.accept(answered_);
        channel_.wait_until_saved(process_, options_.deadline);
    }

    void keep_state() noexcept {
        if (channel_.is_open() && process_.is_ours()) memory_.keep(channel_.output(), channel_.layout());
    }
};

}  // namespace ration::plugin
