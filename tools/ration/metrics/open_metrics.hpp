// SPDX-License-Identifier: BSL-1.0
/// Writes the metrics that prometheus-cpp collects as OpenMetrics; the library itself writes Prometheus' older text
/// only.
#pragma once

#include <prometheus/serializer.h>

namespace ration::program {

/// OpenMetrics 1.0 (https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md): counters, gauges
/// and histograms. Names of counters end in `_total`; the unit of a family is what its name ends in.
class open_metrics_serializer final : public prometheus::Serializer {
public:
    using Serializer::Serialize;
    void Serialize(std::ostream& out, std::vector<prometheus::MetricFamily> const& families) const override;
};

}  // namespace ration::program
