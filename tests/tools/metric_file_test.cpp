// SPDX-License-Identifier: BSL-1.0
// Files with metrics: as frameworks write them, and malformed ones.
#include "run/metric_file.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <tuple>
#include <vector>

#include "support/catch.hpp"

using namespace ration::program;
using ration::seconds;

namespace {

class temporary_folder {
    std::string path_ = (std::filesystem::temp_directory_path() / "ration-test-XXXXXX").string();

public:
    temporary_folder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
    ~temporary_folder() { std::filesystem::remove_all(path_); }
    temporary_folder(temporary_folder const&) = delete;
    temporary_folder& operator=(temporary_folder const&) = delete;

    [[nodiscard]] std::string const& path() const noexcept { return path_; }
};

struct read_value {
    std::string metric;
    std::uint64_t step = 0;
    double value = 0;
    friend bool operator==(read_value const&, read_value const&) = default;
};

/// A reader of files in a separate folder. Each call of `poll` is two seconds after the last.
class followed {
    temporary_folder folder_;
    metric_file_config config_;
    std::optional<metric_file> file_;
    ration::nanoseconds now_{};

public:
    explicit followed(metric_format format, std::string path = "m",
                      std::vector<metric_column> columns = {{"loss", "train_loss"}, {"val_loss", "val_loss"}},
                      std::optional<std::string> step = std::nullopt)
        : config_{.path = std::move(path), .format = format, .step = std::move(step), .columns = std::move(columns)} {
        start();
    }

    void start(metric_file::existing_rows existing = metric_file::existing_rows::skip) {
        file_.emplace(config_, folder_.path(), ration::job_id{1}, ration::incarnation_id{1}, existing);
    }
    void write(std::string const& text, std::string const& name = "m") const { std::ofstream(path(name)) << text; }
    void add(std::string const& text, std::string const& name = "m") const {
        std::ofstream(path(name), std::ios::app) << text;
    }
    [[nodiscard]] std::string path(std::string const& name = "m") const { return folder_.path() + '/' + name; }

    /// The next piece of the file.
    bool read(std::vector<read_value>& into) {
        return file_->poll(now_, [&](ration::progress::update const& update) {
            bool const is_step = update.body.type == ration::progress::message_type::step;
            double const value = is_step ? update.body.loss_mean : update.body.value;
            into.push_back({is_step ? "loss" : std::string(update.body.metric), update.body.step,
                            update.body.non_finite > 0 ? -1 : value});
        });
    }
    /// All that is there.
    [[nodiscard]] std::vector<read_value> poll() {
        now_ = now_ + seconds(2);
        std::vector<read_value> out;
        while (read(out)) {
        }
        return out;
    }
    [[nodiscard]] std::string const& problem() const { return file_->problem(); }
    [[nodiscard]] metric_file const& file() const { return *file_; }
};

using values = std::vector<read_value>;
constexpr auto csv = metric_format::csv;
constexpr auto jsonl = metric_format::jsonl;
constexpr auto tensorboard = metric_format::tensorboard;

std::string bytes_of(std::string const& name) {
    std::ifstream file(RATION_EVENT_FILES "/" + name, std::ios::binary);
    REQUIRE(file);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("rows of a CSV file are read as they are added, and empty cells are no values") {
    followed m(csv);
    CHECK(m.poll().empty());
    m.write("epoch,step,train_loss,val_loss\r\n0,0,0.5,\r\n0,");
    CHECK(m.poll() == values{{"loss", 0, 0.5}});
    m.add("1,0.25,\n0,1,,0.75\n0,2,nan,\"3\"\n");
    CHECK(m.poll() == values{{"loss", 1, 0.25}, {"val_loss", 1, 0.75}, {"loss", 2, -1}, {"val_loss", 2, 3}});
    CHECK(m.poll().empty());
    CHECK(m.problem().empty());
}

TEST_CASE("a file that is written again with another header reports its new rows only") {
    followed m(csv);
    m.write("step,train_loss\n1,5\n2,4\n");
    CHECK(m.poll().size() == 2);
    m.write("step,train_loss,val_loss\n1,5,\n2,4,\n2,,6\n");
    CHECK(m.poll() == values{{"val_loss", 2, 6}});
    m.add("3,3,\n");
    CHECK(m.poll() == values{{"loss", 3, 3}});
    std::filesystem::rename(m.path(), m.path("old"));
    m.write("step,train_loss\n1,5\n2,4\n2,\n3,3\n4,2\n");
    CHECK(m.poll() == values{{"loss", 4, 2}});
}

TEST_CASE("rows of an earlier run are not read, unless the job is reattached") {
    followed m(csv);
    m.write("step,train_loss\n1,5\n");
    m.start();
    CHECK(m.poll().empty());
    m.add("2,4\n");
    CHECK(m.poll() == values{{"loss", 2, 4}});
    m.start(metric_file::existing_rows::read);
    CHECK(m.poll().size() == 2);
}

TEST_CASE("the newest file that matches is followed, and old ones are ignored") {
    followed m(csv, "*/m.csv");
    for (auto const* const name : {"v0", "v1", "v2"}) std::filesystem::create_directory(m.path(name));
    m.write("step,train_loss\n1,9\n", "v0/m.csv");
    m.start();
    CHECK(m.poll().empty());
    CHECK(m.file().path().ends_with("*/m.csv"));
    m.write("step,train_loss\n1,5\n", "v1/m.csv");
    CHECK(m.poll() == values{{"loss", 1, 5}});
    m.write("step,train_loss\n1,7\n", "v2/m.csv");
    std::filesystem::last_write_time(m.path("v1/m.csv"),
                                     std::filesystem::last_write_time(m.path("v2/m.csv")) - std::chrono::seconds(5));
    CHECK(m.poll() == values{{"loss", 1, 7}});
}

TEST_CASE("JSON lines are read, with the words of Python for numbers that are not finite") {
    followed m(jsonl);
    m.write(R"({"step": 3, "train_loss": 1.5})"
            "\n"
            R"({"step": 4, "text": "a NaN \" NaN", "train_loss": NaN, "val_loss": "2"})"
            "\n"
            R"({"step": 5.0, "train_loss": null, "val_loss": -Infinity, "x": [{}]})"
            "\n{\"step\": 6, \"train_l");
    CHECK(m.poll() == values{{"loss", 3, 1.5}, {"loss", 4, -1}, {"val_loss", 4, 2}, {"val_loss", 5, -1}});
    CHECK(m.problem().empty());
    m.add("oss\": 1}\n");
    CHECK(m.poll() == values{{"loss", 6, 1}});
}

TEST_CASE("rows are counted in a file without steps") {
    followed m(jsonl);
    m.write("{\"train_loss\": 2}\n{\"train_loss\": 1}\n");
    CHECK(m.poll() == values{{"loss", 1, 2}, {"loss", 2, 1}});
}

TEST_CASE("a column of the step that a CSV file lacks is a problem, and its rows are counted") {
    for (auto const& [named, problem] : std::vector<std::pair<std::optional<std::string>, std::string>>{
             {"iter", "it has no column 'iter' for the step, so its rows are counted; name one of it, train_loss"},
             {"it", ""},
             {std::nullopt, ""}}) {
        followed m(csv, "m", {{"loss", "train_loss"}}, named);
        m.write("it,train_loss\n7,2\n");
        CHECK(m.poll() == values{{"loss", named == "it" ? 7U : 1U, 2}});
        CHECK(m.problem().find(problem) != std::string::npos);
        CHECK(m.problem().empty() == problem.empty());
    }
}

TEST_CASE("what cannot be read gives one problem, and the rows around it are read") {
    for (auto const& [format, text, words] : std::vector<std::tuple<metric_format, std::string, std::string>>{
             {csv, "step,train_loss\nx,1\n1,oops\n2,2\n", "the step 'x' is not a whole number; name the column"},
             {csv, "step,train_loss\n1.5,1\n-1,1\n1e300,1\nnan,1\n2,2\n", "the step '1.5' is not a whole number"},
             {csv, "step,train_loss\n1,oops\n2,2\n", "the loss 'oops' is not a number; name another column"},
             {csv, "step,train_loss\n1," + std::string(70'000, '1') + "\n2,2\n", "longer than 64 KiB"},
             {jsonl, "[1]\n{\"step\": 2, \"train_loss\": 2}\n", "'[1]' is not a JSON object"},
             {jsonl, "{\"step\": {}}\n{\"step\": 2, \"train_loss\": 2}\n", "the step 'no number' is not"},
             {jsonl, std::string(60'000, '[') + "\n{\"step\": 2, \"train_loss\": 2}\n", "is not a JSON object"}}) {
        followed m(format);
        INFO(text.substr(0, 100));
        m.write(text);
        CHECK(m.poll() == values{{"loss", 2, 2}});
        CHECK(m.problem().find(words) != std::string::npos);
        CHECK(m.problem().size() < 400);
    }
}

TEST_CASE("what is no regular file is refused, and a link to one is followed") {
    followed m(csv);
    REQUIRE(::mkfifo(m.path().c_str(), 0600) == 0);
    CHECK(m.poll().empty());
    CHECK(m.problem().find("is a pipe; let 'metrics' name a regular file") != std::string::npos);
    followed link(csv);
    std::filesystem::create_symlink("/dev/zero", link.path());
    CHECK(link.poll().empty());
    CHECK(link.problem().find("is a device") != std::string::npos);
    std::filesystem::remove(link.path());
    link.write("step,train_loss\n1,5\n", "real");
    std::filesystem::create_symlink(link.path("real"), link.path());
    CHECK(link.poll() == values{{"loss", 1, 5}});
}

TEST_CASE("a line without an end does not grow in memory") {
    followed m(csv);
    m.write("step,train_loss\n" + std::string(3 << 20, 'x'));
    CHECK(m.poll().empty());
    m.add("\n1,5\n");
    CHECK(m.poll() == values{{"loss", 1, 5}});
    CHECK(m.problem().find("64 KiB") != std::string::npos);
}

TEST_CASE("TensorBoard events are read as the file grows") {
    followed m(tensorboard, "runs", {{"loss", "Loss/train"}, {"val_loss", "Loss/val"}});
    std::filesystem::create_directory(m.path("runs"));
    CHECK(m.poll().empty());
    auto const all = bytes_of("tensorboardX.tfevents");
    values read;
    for (std::size_t at = 0; at < all.size(); at += 100) {
        m.add(all.substr(at, 100), "runs/events.out.tfevents.1");
        for (auto const& value : m.poll()) read.push_back(value);
    }
    double const third = static_cast<float>(1 / 3.0);
    CHECK(read == values{{"loss", 0, 1},
                         {"loss", 1, 0.5},
                         {"loss", 2, third},
                         {"loss", 3, 0.25},
                         {"val_loss", 3, 0.25},
                         {"loss", 4, -1}});
    CHECK(m.problem().empty());
    CHECK(m.file().header() == std::vector<std::string>{"Loss/train", "lr", "Loss/val"});
}

TEST_CASE("a folder stands for its newest event file, and event files of an earlier run are not read") {
    followed m(tensorboard, "runs", {{"loss", "loss"}});
    std::filesystem::create_directories(m.path("runs/hparams"));
    m.write(bytes_of("tensorboard.tfevents"), "runs/events.out.tfevents.1");
    m.start();
    CHECK(m.poll().empty());
    m.write("step\n1\n", "runs/other");
    m.write(bytes_of("tensorboard.tfevents"), "runs/hparams/events.out.tfevents.3");
    CHECK(m.poll().empty());
    m.write(bytes_of("tensorboard.tfevents"), "runs/events.out.tfevents.2");
    CHECK(m.poll().size() == 5);
    CHECK(m.file().path() == m.path("runs/events.out.tfevents.2"));
    CHECK(m.problem().empty());
}

TEST_CASE("a file without TensorBoard events, or with damage, gives one problem") {
    followed m(tensorboard, "m", {{"loss", "loss"}});
    m.write("step,loss\n1,2\n");
    CHECK(m.poll().empty());
    CHECK(m.problem() == m.path() +
                             ": it has no TensorBoard events, or is damaged; name a file events.out.tfevents.* or its "
                             "folder");
    m.start();
    auto damaged = bytes_of("tensorboard.tfevents");
    damaged[damaged.find("loss")] = 'b';
    m.write(damaged);
    CHECK(m.poll().size() == 4);
    CHECK(m.problem() == m.path() + ": a record has a wrong checksum and is skipped; check the disk and the writer");
}

TEST_CASE("a pattern that leads to too many folders is named, and not expanded again") {
    followed m(csv, "d/*/*/*/*/*/*/m");
    std::filesystem::create_directory(m.path("d"));
    for (int link = 0; link < 10; ++link)
        std::filesystem::create_directory_symlink(".", m.path("d/l" + std::to_string(link)));
    m.write("step,train_loss\n1,5\n", "d/m");
    CHECK(m.poll().empty());
    auto const sentence =
        m.path("d/*/*/*/*/*/*/m") + ": the pattern leads to more than 4096 files and folders; name fewer";
    CHECK(m.problem() == sentence);
    for (int link = 1; link < 10; ++link) std::filesystem::remove(m.path("d/l" + std::to_string(link)));
    CHECK(m.poll().empty());
    m.start(metric_file::existing_rows::read);
    CHECK(m.poll() == values{{"loss", 1, 5}});
}

TEST_CASE("a file continues to be read when its pattern leads to too many others") {
    followed m(csv, "*/m");
    std::filesystem::create_directory(m.path("v0"));
    m.write("step,train_loss\n1,5\n", "v0/m");
    CHECK(m.poll() == values{{"loss", 1, 5}});
    for (int other = 0; other < 2100; ++other) std::filesystem::create_directory(m.path("x" + std::to_string(other)));
    m.add("2,4\n", "v0/m");
    CHECK(m.poll() == values{{"loss", 2, 4}});
    for (int other = 0; other < 2100; ++other) std::filesystem::create_directory(m.path("y" + std::to_string(other)));
    m.add("3,3\n", "v0/m");
    CHECK(m.poll() == values{{"loss", 3, 3}});
    CHECK(m.problem().find("more than 4096") != std::string::npos);
}

TEST_CASE("patterns have the meaning of glob(7)") {
    followed m(csv, "[ab]?/*.csv");
    for (auto const* const name : {"a1", "c1", ".a"}) std::filesystem::create_directory(m.path(name));
    m.write("step,train_loss\n1,9\n", "c1/m.csv");
    m.write("step,train_loss\n2,9\n", ".a/m.csv");
    m.write("step,train_loss\n3,9\n", "a1/.m.csv");
    CHECK(m.poll().empty());
    m.write("step,train_loss\n4,9\n", "a1/m.csv");
    CHECK(m.poll() == values{{"loss", 4, 9}});
}

TEST_CASE("a large file is read in pieces") {
    followed m(csv);
    std::string text = "step,train_loss\n";
    while (text.size() < 100'000) text += "1,5\n";
    m.write(text);
    values first;
    CHECK(m.read(first));
    CHECK(!first.empty());
    CHECK(m.file().unread_bytes() > 0);
    CHECK(first.size() + m.poll().size() == (text.size() - 16) / 4);
    CHECK(m.file().unread_bytes() == 0);
}
