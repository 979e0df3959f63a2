// SPDX-License-Identifier: BSL-1.0
// All machines together under random events: whatever happens, no device is in two jobs.
#include <array>
#include <memory>
#include <random>
#include <set>

#include "resize_support.hpp"
#include "run/elastic_jobs.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

namespace {

/// Processes that do anything at any time, under machines whose controller may be killed at any time as well.
class wild_world {
    static constexpr std::uint32_t device_count = 6, job_count = 4;

    struct process {
        device_list devices;
        bool alive = false, saving = false, stopping = false, reply = false;
    };
    std::mt19937 rng_;
    std::vector<std::string> const names_ = names(device_count);
    std::unique_ptr<elastic_jobs> all_;
    std::array<process, job_count> processes_{};
    std::array<bool, job_count> orphaned_runs_{}, over_{};
    nanoseconds now_ = seconds(1);
    bool good_ = false;  // from now on everybody does what is asked

public:
    explicit wild_world(unsigned seed) : rng_(seed), all_(make()) {}

    void run(int events) {
        for (int i = 0; i < events; ++i) happen();
        good_ = true;
        for (std::uint32_t device = 0; device < device_count; ++device) all_->table().devices().cordon(device, false);
        for (int i = 0; i < 4000; ++i) happen();
        for (std::uint32_t j = 0; j < job_count; ++j) check_rest(j);
    }

private:
    [[nodiscard]] std::unique_ptr<elastic_jobs> make() {
        auto out = std::make_unique<elastic_jobs>(names_);
        for (std::uint32_t j = 0; j < job_count; ++j) out->add(job_id{j + 1}, short_rules(), 1);
        return out;
    }
    [[nodiscard]] resize& machine(std::uint32_t j) { return *all_->find(job_id{j + 1}); }
    [[nodiscard]] resize_state const& state(std::uint32_t j) { return machine(j).state(); }
    [[nodiscard]] std::uint32_t below(std::uint32_t n) {
        return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(rng_);
    }
    [[nodiscard]] bool often() { return good_ || below(10) != 0; }

    void happen() {
        std::uint32_t const j = below(job_count);
        switch (below(good_ ? 6 : 10)) {
            case 0: now_ = now_ + milliseconds(below(3000)); break;
            case 1: speak(j); break;
            case 2: save(j); break;
            case 3:
                if (processes_[j].stopping && often()) die(j, true);
                break;
            case 4: clear(j); break;
            case 5: now_ = now_ + seconds(static_cast<double>(below(40))); break;
            case 6: want(j); break;
            case 7:
                if (below(4) == 0) die(j, false);
                break;
            case 8: all_->table().devices().cordon(below(device_count), below(3) == 0); break;
            default:
                if (below(8) == 0) restart();
        }
        all_->advance(now_);
        for (std::uint32_t k = 0; k < job_count; ++k) obey(k);
    }

    /// As the engine does: no more than there is.
    void want(std::uint32_t j) {
        std::int64_t others = 0;
        for (std::uint32_t k = 0; k < job_count; ++k) others += k == j || over_[k] ? 0 : state(k).devices.wanted();
        auto const n = static_cast<std::int64_t>(below(device_count + 1));
        if (!over_[j] && n + others <= device_count && state(j).can_change(now_)) machine(j).want(n);
    }

    void speak(std::uint32_t j) {
        auto& p = processes_[j];
        if (!p.alive) return;
        if (!p.reply) {
            bool const wrong = !often();
            p.reply = true;
            machine(j).launch().hello(good_ || below(5) != 0, static_cast<std::uint32_t>(p.devices.size()),
                                      wrong ? "cpu-9" : all_->table().devices().names(p.devices), now_);
        } else {
            machine(j).launch().stepped(now_);
        }
    }
    void save(std::uint32_t j) {
        if (processes_[j].alive && std::exchange(processes_[j].saving, false)) machine(j).checkpoint(often(), now_);
    }
    void die(std::uint32_t j, bool clean) {
        if (!processes_[j].alive) return;
        processes_[j].alive = false;
        orphaned_runs_[j] = true;
        if (machine(j).exited(clean, false, now_) == exit_meaning::part_of_resize) return;
        over_[j] = true;
        orphaned_runs_[j] = false;
        machine(j).ended(true, now_);
    }
    void clear(std::uint32_t j) {
        if (state(j).phase != resize_phase::clearing || processes_[j].alive) return;
        orphaned_runs_[j] = false;
        machine(j).cleared(now_);
    }
    /// kill -9 of the controller: all that is left is the record.
    void restart() {
        std::vector<resize_record> record;
        for (std::uint32_t j = 0; j < job_count; ++j) record.push_back(state(j).record());
        all_ = make();
        for (std::uint32_t j = 0; j < job_count; ++j) {
            if (over_[j]) continue;
            processes_[j].reply = false;
            REQUIRE(machine(j).restore(record[j], processes_[j].alive, now_));
        }
    }

    void obey(std::uint32_t j) {
        for (auto const order : machine(j).take_orders()) {
            auto& p = processes_[j];
            switch (order) {
                case resize_order::save: p.saving = true; break;
                case resize_order::go: p.saving = false; break;
                case resize_order::stop:
                case resize_order::terminate: p.stopping = true; break;
                case resize_order::kill:
                    if (often()) die(j, false);
                    break;
                case resize_order::refuse:
                    if (p.alive)
                        die(j, false);
                    else {
                        over_[j] = true;
                        machine(j).ended(true, now_);
                    }
                    break;
                case resize_order::launch: break;
            }
        }
        if (machine(j).launch().is_awaited() && often()) launch(j);
    }
    void launch(std::uint32_t j) {
        machine(j).launch().replace_cordoned(now_);
        if (!machine(j).launch().is_awaited()) return;
        if (!often()) return machine(j).launch().failed("no such program", now_);
        REQUIRE_FALSE(processes_[j].alive);
        REQUIRE(all_->table().devices().sound(state(j).devices.held()) == state(j).devices.held());
        processes_[j] = {.devices = state(j).devices.held(), .alive = true};
        machine(j).launch().made(now_);
        std::set<std::uint32_t> seen;
        for (std::uint32_t k = 0; k < job_count; ++k)
            if (processes_[k].alive || orphaned_runs_[k])
                // Never in two jobs
                for (auto const device : processes_[k].devices) REQUIRE(seen.insert(device).second);
    }

    void check_rest(std::uint32_t j) {
        if (over_[j]) return;
        INFO("job " << j << " " << name_of(state(j).phase));
        if (state(j).devices.wanted() == 0) {
            CHECK(state(j).phase == resize_phase::queued);
            CHECK_FALSE(processes_[j].alive);
            CHECK(all_->table().of(job_id{j + 1}).empty());
        } else {
            CHECK(state(j).phase == resize_phase::steady);
            CHECK(processes_[j].alive);
            CHECK(processes_[j].devices == state(j).devices.held());
            CHECK(state(j).devices.size() == state(j).devices.wanted());
        }
    }
};

}  // namespace

TEST_CASE("whatever happens, no device is in two jobs, and every job ends with what it is to have") {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        INFO("seed " << seed);
        wild_world(seed).run(600);
    }
}
