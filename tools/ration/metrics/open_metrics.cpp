// SPDX-License-Identifier: BSL-1.0
#include "open_metrics.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <span>
#include <string_view>

namespace ration::program {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr std::string_view counter_suffix = "_total";

void write_escaped(std::ostream& out, std::string_view text) {
    for (char const c : text)
        if (c == '\n')
            out << "\\n";
        else if (c == '"' || c == '\\')
            out << '\\' << c;
        else
            out << c;
}

/// Without an exponent, so that the bounds of buckets have the one form that the specification asks for.
void write_number(std::ostream& out, double value) {
    if (std::isnan(value)) {
        out << "NaN";
    } else if (std::isinf(value)) {
        out << (value > 0 ? "+Inf" : "-Inf");
    } else {
        std::array<char, 400> digits;  // the longest double has 309 in front of its point
        auto const end = std::to_chars(digits.begin(), digits.end(), value, std::chars_format::fixed).ptr;
        out.write(digits.data(), end - digits.data());
    }
}

void write_bound(std::ostream& out, double bound) {
    write_number(out, bound);
    if (std::isfinite(bound) && std::trunc(bound) == bound) out << ".0";
}

/// `bound`: of a histogram's bucket, or nullptr.
void write_labels(std::ostream& out, std::span<ClientMetric::Label const> labels, double const* bound = nullptr) {
    if (labels.empty() && bound == nullptr) return;
    char before = '{';
    for (auto const& label : labels) {
        out << before << label.name << "=\"";
        write_escaped(out, label.value);
        out << '"';
        before = ',';
    }
    if (bound != nullptr) {
        out << before << "le=\"";
        write_bound(out, *bound);
        out << '"';
    }
    out << '}';
}

void write_sample(std::ostream& out, std::string_view name, std::string_view suffix, ClientMetric const& metric,
                  double value, double const* bound = nullptr) {
    out << name << suffix;
    write_labels(out, metric.label, bound);
    out << ' ';
    write_number(out, value);
    out << '\n';
}

void write_metric(std::ostream& out, std::string_view name, MetricType type, ClientMetric const& metric) {
    if (type == MetricType::Counter) return write_sample(out, name, counter_suffix, metric, metric.counter.value);
    if (type != MetricType::Histogram) return write_sample(out, name, "", metric, metric.gauge.value);
    for (auto const& bucket : metric.histogram.bucket)
        write_sample(out, name, "_bucket", metric, static_cast<double>(bucket.cumulative_count), &bucket.upper_bound);
    write_sample(out, name, "_count", metric, static_cast<double>(metric.histogram.sample_count));
    write_sample(out, name, "_sum", metric, metric.histogram.sample_sum);
}

[[nodiscard]] std::string_view word_of(MetricType type) {
    switch (type) {
        case MetricType::Counter: return "counter";
        case MetricType::Histogram: return "histogram";
        default: return "gauge";
    }
}

void write_family(std::ostream& out, MetricFamily const& family) {
    std::string_view name = family.name;
    if (family.type == MetricType::Counter && name.ends_with(counter_suffix)) name.remove_suffix(counter_suffix.size());
    out << "# TYPE " << name << ' ' << word_of(family.type) << '\n';
    for (std::string_view const unit : {"seconds", "bytes", "cores"})
        if (name.ends_with(unit)) out << "# UNIT " << name << ' ' << unit << '\n';
    out << "# HELP " << name << ' ';
    write_escaped(out, family.help);
    out << '\n';
    for (auto const& metric : family.metric) write_metric(out, name, family.type, metric);
}

}  // namespace

void open_metrics_serializer::Serialize(std::ostream& out, std::vector<MetricFamily> const& families) const {
    for (auto const& family : families) write_family(out, family);
    out << "# EOF\n";
}

}  // namespace ration::program
