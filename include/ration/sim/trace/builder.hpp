// SPDX-License-Identifier: BSL-1.0
/// Makes a workload from the rows of a trace. All formats end here, so values are validated in one place.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/sim/diagnostic.hpp>
#include <ration/sim/model_library.hpp>
#include <ration/sim/phase_model.hpp>
#include <ration/sim/serving_model.hpp>
#include <ration/sim/trace/field_parser.hpp>
#include <ration/sim/trace/layout.hpp>
#include <ration/sim/workload.hpp>

namespace ration::sim::trace {

/// Converts to the nearest nanosecond.
[[nodiscard]] inline nanoseconds at_second(double seconds) noexcept { return {std::llround(seconds * 1e9)}; }

/// Validates rows and collects the jobs; `failure` has the first error. Precondition: the library outlives it.
class builder {
    /// The times of a job in seconds, on the clock of the trace. Without a deadline it is below 0.
    struct job_times {
        double submitted = 0, deadline = -1;
    };

    static constexpr domain device_count{1, 1e6, true, "a whole number from 1 to 1000000"};
    static constexpr domain no_device{0, 0, true, "0, or leave it empty: jobs of this model run on processors"};
    static constexpr domain run_time{1e-9, 9e9, false, "seconds above 0, at most 9000000000"};
    static constexpr domain amount{1e-9, 1e15, false, "a number above 0, at most 1e15"};
    static constexpr domain file_size{1, 1e15, true, "a whole number of bytes from 1 to 1e15"};
    static constexpr std::string_view service = "service";  // the name of their model
    static constexpr domain samples{1, 1e12, true, "a whole number from 1 to 1e12"};

    field_parser fields_;
    model_library const& library_;
    workload made_;
    std::vector<job_times> times_;  // index = job
    std::map<std::string, std::uint32_t, std::less<>> tenants_, items_;
    std::map<std::string_view, std::uint32_t> services_;         // by the text of their schedules
    std::map<std::string, std::uint32_t, std::less<>> classes_;  // of jobs with phases
    double noisy_seconds_ = 0;                                   // of all phases
    std::uint32_t last_tenant_ = 0, last_model_ = 0;

public:
    /// `of` is the format, and `library` has the models that rows can name.
    builder(layout const& of, model_library const& library) : fields_(of), library_(library) {}

    /// Allocates for this number of jobs.
    void reserve(std::size_t jobs) {
        made_.jobs.reserve(jobs);
        times_.reserve(jobs);
        if (fields_.has(field::name)) made_.job_names.reserve(jobs);
    }

    /// The first error.
    [[nodiscard]] diagnostic const& failure() const noexcept { return fields_.failure(); }

    /// A job as a row describes it.
    struct parsed_job {
        job_description job;       ///< without its times
        job_times at{};            ///< on the clock of the trace
        double ran = 0;            ///< seconds from its start to its end, if the format has both
        bool is_left_out = false;  ///< the row has no device or no run time

        /// The job, with its times from `first` on.
        [[nodiscard]] job_description from(double first) const noexcept {
            job_description counted = job;
            counted.submitted = at_second(at.submitted - first);
            if (at.deadline >= 0) counted.deadline = at_second(at.deadline - first);
            return counted;
        }
    };
    /// Parses a row, which is not kept; only models and tenants are. Returns false if it is invalid. O(log tenants +
    /// models).
    [[nodiscard]] bool parse(row const& r, parsed_job& into) {
        into = {};
        if (!set_ran(r, into)) return false;
        if (into.is_left_out) return ++made_.left_out > 0;
        job_description& job = into.job;
        if (!set_request(r, job) || !fields_.point(r, field::submitted, into.at.submitted) || !set_model(r, into) ||
            !set_bounds(r, job) || !set_rest(r, into) || !set_tenant(r, job) || !set_reads(r, job))
            return false;
        return !fields_.has(field::name) || fields_.is_word(r, field::name);
    }

    /// Adds a row. Returns false if it is invalid. O(log tenants + models).
    [[nodiscard]] bool add(row const& r) {
        parsed_job parsed;
        if (!parse(r, parsed)) return false;
        if (parsed.is_left_out) return true;
        if (fields_.has(field::name)) made_.job_names.emplace_back(r[field::name]);
        made_.jobs.push_back(parsed.job);
        times_.push_back(parsed.at);
        return true;
    }

    /// The models and tenants so far, and the jobs that were added, without their times.
    [[nodiscard]] workload const& so_far() const noexcept { return made_; }

    /// Records an error in a whole row: for readers that find one before a row reaches `add`.
    bool refuse(std::uint64_t line, std::string sentence) { return fields_.refuse(line, std::move(sentence)); }

    /// The workload, with its jobs in the order of submission. Times count from the first one. O(jobs), or O(jobs log
    /// jobs) if the trace is in another order.
    [[nodiscard]] workload finish(std::string name) {
        made_.name = std::move(name);
        auto const earlier = [](job_times const& a, job_times const& b) { return a.submitted < b.submitted; };
        double const first = times_.empty() ? 0 : std::min_element(times_.begin(), times_.end(), earlier)->submitted;
        for (std::size_t j = 0; j < made_.jobs.size(); ++j) {
            parsed_job const whole{.job = made_.jobs[j], .at = times_[j]};
            made_.jobs[j] = whole.from(first);
        }
        if (!std::is_sorted(times_.begin(), times_.end(), earlier)) sort();
        if (made_.models.empty()) static_cast<void>(index_of_rigid());
        if (made_.tenants.empty()) made_.tenants.emplace_back("default");
        return std::move(made_);
    }

private:
    /// Parses the time from start to end, and decides whether the row is left out.
    [[nodiscard]] bool set_ran(row const& r, parsed_job& into) {
        if (!fields_.format().real) return true;
        bool const has_both = fields_.has(field::started) && fields_.has(field::ended);
        into.is_left_out = field_parser::is_nothing(r, field::devices) ||
                           (has_both && (r[field::started].empty() || r[field::ended].empty())) ||
                           (fields_.has(field::duration) && field_parser::is_nothing(r, field::duration));
        if (into.is_left_out || !has_both) return true;
        double start = 0, end = 0;
        if (!fields_.point(r, field::started, start) || !fields_.point(r, field::ended, end)) return false;
        into.ran = end - start;
        into.is_left_out = into.ran < run_time.least;
        return true;
    }

    /// The model that the row names; nullptr if it names none, or an unknown one.
    [[nodiscard]] named_model const* model_of(row const& r) const noexcept {
        return r[field::model].empty() ? nullptr : find_model(library_, r[field::model]);
    }
    /// Parses the devices; a job on processors has none.
    [[nodiscard]] bool set_request(row const& r, job_description& job) {
        double devices = 0;
        named_model const* const known = model_of(r);
        bool const cpu = !r[field::phases].empty() || (known != nullptr && known->model->cores(known->usual) > 0);
        if (!(cpu && r[field::devices].empty()) &&
            !fields_.number(r, field::devices, cpu ? no_device : device_count, devices))
            return false;
        job.request = static_cast<std::int64_t>(devices);
        return true;
    }

    /// Sets the model and its usual values.
    [[nodiscard]] bool set_model(row const& r, parsed_job& into) {
        job_description& job = into.job;
        std::string_view const name = r[field::model];
        if (!r[field::phases].empty()) return set_phases(r, job);
        if (!r[field::requests].empty()) return set_service(r, job);
        named_model const* const known = model_of(r);
        bool const rigid = name.empty() ? fields_.format().is != format::gavel
                                        : !known && (fields_.format().rigid_too || name == "rigid");
        if (!known && !rigid)
            return fields_.refuse(r, field::model, "the name of a model whose profile is loaded" + known_models());
        if (rigid) {
            job.model = index_of_rigid();
            job.least = job.most = job.request;
            if (into.ran > 0)
                job.length = into.ran;
            else if (!set_length(r, field::duration, 0, job))
                return false;
            constexpr double thirty_days = 30 * 86400.0;
            made_.long_jobs += job.length > thirty_days;
            return true;
        }
        std::int64_t const request = job.request;
        job = known->usual;
        job.request = request;
        job.least = std::min(job.least, request);
        job.most = std::max(job.most, request);
        job.model = index_of(known->name, known->model);
        return set_length(r, field::length, known->usual.length, job);
    }

    /// Sets the model of a job with a schedule of requests.
    [[nodiscard]] bool set_service(row const& r, job_description& job) {
        if (!r[field::model].empty() && r[field::model] != service)
            return fields_.refuse(r, field::model, "service, or leave it empty: the job has requests");
        auto schedule = serving_model::schedule_in(r[field::requests]);
        if (!schedule)
            return fields_.refuse(r, field::requests,
                                  "whole seconds after the submission, and devices, as in 0:2 600:8 1200:3");
        serving_model made(std::move(*schedule));
        job.least = 1;
        job.most = std::max(job.request, made.most_requested());
        job.model = index_of_service(std::move(made));
        return set_length(r, field::duration, 0, job);
    }

    /// Sets the model of a job with phases. Its `model` is the class of jobs with such phases. Jobs differ in the
    /// noise, which depends on the row only.
    [[nodiscard]] bool set_phases(row const& r, job_description& job) {
        auto phases = phase_model::phases_in(r[field::phases]);
        if (!phases)
            return fields_.refuse(r, field::phases,
                                  "seconds, cores, bytes and the noise of each phase, as in 60:0.5:1e8 400:2:1e9:0.05");
        noisy_seconds_ += phase_model::noisy_seconds(*phases);
        if (noisy_seconds_ > phase_model::most_noisy_seconds)
            return fields_.refuse(r, field::phases,
                                  "no noise, or shorter phases: a trace has at most 100000000 seconds with noise");
        for (field const f : {field::duration, field::length, field::requests})
            if (!r[f].empty()) return fields_.refuse(r, f, "nothing: the phases determine the length of the job");
        if (!r[field::model].empty() && !fields_.is_word(r, field::model)) return false;
        std::string_view const kind = r[field::model].empty() ? "phases" : r[field::model];
        auto const known = classes_.emplace(kind, static_cast<std::uint32_t>(classes_.size())).first;
        auto model = std::make_shared<phase_model const>(std::move(*phases), made_.models.size(), known->second);
        job.least = job.most = 0;
        job.length = model->length();
        job.model = static_cast<std::uint32_t>(made_.models.size());
        made_.models.push_back(std::move(model));
        made_.model_names.emplace_back(kind);
        return true;
    }

    /// Parses the length. For a rigid job a step is a second, and its length can be in either column. A job with a
    /// model has its length in steps.
    [[nodiscard]] bool set_length(row const& r, field given, double usual, job_description& job) {
        if (given == field::duration && r[given].empty() && !r[field::length].empty()) given = field::length;
        if (r[given].empty() && usual > 0) {
            job.length = usual;
            return true;
        }
        return given == field::length ? fields_.number(r, given, amount, job.length)
                                      : fields_.duration(r, given, run_time, job.length);
    }

    /// Parses the bounds of the devices.
    [[nodiscard]] bool set_bounds(row const& r, job_description& job) {
        domain const& allowed = job.request == 0 ? no_device : device_count;
        if (!fields_.number_if_any(r, field::least, allowed, job.least) ||
            !fields_.number_if_any(r, field::most, allowed, job.most))
            return false;
        if (job.least > job.request)
            return fields_.refuse(r, field::least, "at most as many as " + fields_.title(field::devices));
        return job.most >= job.request ||
               fields_.refuse(r, field::most, "at least as many as " + fields_.title(field::devices));
    }

    /// Parses the remaining fields.
    [[nodiscard]] bool set_rest(row const& r, parsed_job& into) {
        job_description& job = into.job;
        double& deadline = into.at.deadline;
        if (!fields_.number_if_any(r, field::batch, samples, job.batch) ||
            !fields_.number_if_any(r, field::weight, amount, job.weight))
            return false;
        if (!fields_.duration_if_any(r, field::restart_cost, field_parser::time, job.restart_cost) ||
            !fields_.duration_if_any(r, field::deadline, field_parser::time, deadline))
            return false;
        if (deadline >= 0 && deadline < into.at.submitted)
            return fields_.refuse(r, field::deadline, "a time that is not before the job is submitted");
        return r[field::within].empty() || r[field::best_effort] == "1" || set_deadline(r, into.at);
    }

    /// Sets the deadline to the first of the times after the submission.
    [[nodiscard]] bool set_deadline(row const& r, job_times& at) {
        row first = r;
        first[field::within] = r[field::within].substr(0, r[field::within].find('-'));
        double after = 0;
        if (!fields_.duration(first, field::within, field_parser::time, after)) return false;
        at.deadline = std::min(at.submitted + after, field_parser::time.most);
        return true;
    }

    /// Sets the tenant.
    [[nodiscard]] bool set_tenant(row const& r, job_description& job) {
        std::string_view const name = r[field::tenant];
        if (name.empty()) {
            job.tenant = index_of_tenant("default");
            return true;
        }
        if (!fields_.is_word(r, field::tenant)) return false;
        job.tenant = index_of_tenant(name);
        return true;
    }

    /// Sets the data set, and adds it at its first use.
    [[nodiscard]] bool set_reads(row const& r, job_description& job) {
        std::string_view const name = r[field::item];
        if (name.empty()) return true;
        double bytes = 0;
        if (!fields_.is_word(r, field::item) || !fields_.number(r, field::item_bytes, file_size, bytes) ||
            !fields_.number(r, field::read, amount, job.read))
            return false;
        auto const size = static_cast<std::int64_t>(bytes);
        auto const known = items_.emplace(name, static_cast<std::uint32_t>(made_.items.size()));
        if (known.second) made_.items.push_back({std::string(name), size});
        job.item = known.first->second;
        return made_.items[job.item].bytes == size ||
               fields_.refuse(r, field::item_bytes, "the same in all rows of a data set");
    }

    /// The index of a tenant; most rows have the tenant of the row before.
    [[nodiscard]] std::uint32_t index_of_tenant(std::string_view name) {
        if (last_tenant_ < made_.tenants.size() && made_.tenants[last_tenant_] == name) return last_tenant_;
        auto const found = tenants_.find(name);
        if (found != tenants_.end()) return last_tenant_ = found->second;
        last_tenant_ = static_cast<std::uint32_t>(made_.tenants.size());
        made_.tenants.emplace_back(name);
        tenants_.emplace(name, last_tenant_);
        return last_tenant_;
    }

    /// The index of a model, which is added at its first use. Most rows have the model of a row before.
    [[nodiscard]] std::uint32_t index_of(std::string_view name, std::shared_ptr<job_model const> const& model) {
        auto const is_it = [&](std::size_t i) { return made_.models[i] == model && made_.model_names[i] == name; };
        if (last_model_ < made_.models.size() && is_it(last_model_)) return last_model_;
        for (last_model_ = 0; last_model_ < made_.models.size(); ++last_model_)
            if (is_it(last_model_)) return last_model_;
        made_.models.push_back(model);
        made_.model_names.emplace_back(name);
        return last_model_;
    }
    /// The index of the model with this schedule.
    [[nodiscard]] std::uint32_t index_of_service(serving_model made) {
        auto const known = services_.find(made.text());
        if (known != services_.end()) return known->second;
        auto const model = std::make_shared<serving_model const>(std::move(made));
        auto const index = static_cast<std::uint32_t>(made_.models.size());
        made_.models.push_back(model);
        made_.model_names.emplace_back(service);
        services_.emplace(model->text(), index);
        return index;
    }
    /// The index of the model of rigid jobs.
    [[nodiscard]] std::uint32_t index_of_rigid() {
        static std::shared_ptr<job_model const> const rigid = std::make_shared<rigid_model>();
        return index_of("rigid", rigid);
    }

    /// The first names of the library, for messages.
    [[nodiscard]] std::string known_models() const {
        if (library_.empty()) return " (none is)";
        std::string text = ":";
        for (std::size_t i = 0; i < library_.size() && i < 8; ++i) text += (i > 0 ? ", " : " ") + library_[i].name;
        return text += library_.size() > 8 ? ", ..." : "";
    }

    /// Sorts the jobs by submission; jobs of equal time keep their order. A bottom-up merge sort: long parts of a
    /// trace are usually sorted.
    void sort() {
        using entry = std::pair<double, std::uint32_t>;
        std::vector<entry> order, merged(made_.jobs.size());
        order.reserve(made_.jobs.size());
        for (std::size_t j = 0; j < made_.jobs.size(); ++j)
            order.emplace_back(times_[j].submitted, static_cast<std::uint32_t>(j));
        for (std::size_t width = 1; width < order.size(); width *= 2, order.swap(merged))
            for (std::size_t begin = 0; begin < order.size(); begin += 2 * width) {
                auto const at = [&](std::size_t i) {
                    return order.begin() + static_cast<std::ptrdiff_t>(std::min(i, order.size()));
                };
                std::merge(at(begin), at(begin + width), at(begin + width), at(begin + 2 * width),
                           merged.begin() + static_cast<std::ptrdiff_t>(begin));
            }
        std::vector<job_description> jobs;
        std::vector<std::string> names;
        jobs.reserve(order.size());
        names.reserve(made_.job_names.size());
        for (auto const& [when, j] : order) jobs.push_back(made_.jobs[j]);
        if (!made_.job_names.empty())
            for (auto const& [when, j] : order) names.push_back(std::move(made_.job_names[j]));
        made_.jobs.swap(jobs);
        made_.job_names.swap(names);
    }
};

}  // namespace ration::sim::trace
