// SPDX-License-Identifier: BSL-1.0
// A worker program that an attacker has taken over: it has no sandbox and keeps no rules. So that it is asked again, it
// answers with three rows, whose amounts are 100 times the tick plus the row. At one tick it does what its argument
// names: "count@1".
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <initializer_list>
#include <map>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <ration/plugin/host/descriptor.hpp>
#include <ration/plugin/host/worker_layout.hpp>

using namespace ration::plugin;

namespace {

[[nodiscard]] std::size_t size_of_file(int fd) {
    struct stat about{};
    return ::fstat(fd, &about) == 0 ? static_cast<std::size_t>(about.st_size) : 0;
}

/// Its side of the shared files, all of which it may write to as it likes.
struct taken_over {
    mapping brief_map{brief_fd, size_of_file(brief_fd), PROT_READ}, input{input_fd, size_of_file(input_fd), PROT_READ},
        output{output_fd, size_of_file(output_fd), PROT_READ | PROT_WRITE};
    worker_brief const& brief = *reinterpret_cast<worker_brief const*>(brief_map.data());
    output_layout const places{brief.most_grants, brief.state_capacity};
    std::uint32_t sequence = 1;  // of the request that it is to answer

    [[nodiscard]] worker_request const& request() const {
        return *reinterpret_cast<worker_request const*>(input.data());
    }
    [[nodiscard]] worker_reply& reply() const { return *reinterpret_cast<worker_reply*>(output.data()); }
    [[nodiscard]] ration_grant* rows() const { return reinterpret_cast<ration_grant*>(output.data() + places.grants); }
    [[nodiscard]] std::uint32_t* list() const {
        return reinterpret_cast<std::uint32_t*>(output.data() + places.changed);
    }

    void publish(std::uint32_t as) const {
        reply().sequence.store(as);
        wake(reply().sequence);
    }
    void write_answer() const {
        for (std::uint32_t row = 0; row < 3; ++row)
            rows()[row] = {row, 0, RATION_CPU, 0, 0, static_cast<std::int64_t>(100 * request().number + row)};
        reply().code = RATION_OK;
        reply().count = 3;
        reply().changed_rows = all_rows;
    }
};

/// Everything that it must not do to a file it was given; how much of that succeeded.
[[nodiscard]] int harm(int fd, bool its_own) {
    std::size_t const size = size_of_file(fd);
    int done = 0;
    auto const opened = descriptor(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR));
    for (int const way : {fd, opened.get()}) {
        if (way < 0) continue;
        done += ::ftruncate(way, 0) == 0;
        done += ::ftruncate(way, static_cast<off_t>(size / 2)) == 0;
        done += ::ftruncate(way, static_cast<off_t>(2 * size)) == 0;
        if (its_own) continue;
        done += ::pwrite(way, "x", 1, 0) == 1;
        done += ::fallocate(way, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0;
        done += static_cast<bool>(mapping(way, size, PROT_READ | PROT_WRITE));
        mapping const map(way, size, PROT_READ);
        done += map && ::mprotect(map.data(), size, PROT_READ | PROT_WRITE) == 0;
        done += map && ::madvise(map.data(), size, MADV_REMOVE) == 0;
    }
    auto const emptied = descriptor(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_TRUNC));
    return done + (size_of_file(fd) != size);
}

/// Writes changing values over the whole of the answer, forever.
void scribble(taken_over const& self, bool also_the_sequence) {
    auto& r = self.reply();
    for (std::uint32_t i = 1;; ++i) {
        r.count = i % 5 == 0 ? ~std::uint64_t{0} : i % 40;
        r.changed_rows = i % 3 == 0 ? all_rows : i % 40;
        r.code = i % 7 == 0 ? static_cast<std::int32_t>(i) : RATION_OK;
        r.written = i % 9 == 0 ? ~std::uint64_t{0} : i % 50;
        r.written_again = i % 2;
        r.meddled = i % 11 == 0;
        r.changed = i % 13 == 0;
        self.list()[i % self.places.most_changed] = i % 2 == 0 ? i : i % 16;
        self.rows()[i % self.brief.most_grants] = {i, i, 0, 0, i, i};
        r.state_size[i % 2] = i % 3 == 0 ? ~std::uint64_t{0} : i % 100'000;
        r.state_tick[i % 2] = i % 200;
        std::memcpy(r.log.lines + i % (sizeof r.log.lines - sizeof i), &i, sizeof i);
        r.log.size = i % 4 == 0 ? ~0U : i % 40'000;
        r.log.dropped = i % 3;
        if (also_the_sequence) {
            r.sequence = i % 500;
            r.kept = i % 500;
        }
        asm volatile("" ::: "memory");
    }
}

void list_rows(taken_over& self, std::initializer_list<std::uint32_t> rows) {
    self.reply().changed_rows = rows.size();
    std::copy(rows.begin(), rows.end(), self.list());
}

/// A child that outlives this process for some seconds, and writes to the files that this process had.
void leave_a_child(taken_over& self) {
    pid_t const parent = ::getpid();
    if (::fork() != 0) return;
    ::alarm(5);
    while (::getppid() == parent) ::usleep(100);
    for (std::uint32_t i = 0;; ++i) {
        self.publish(i % 40);
        self.rows()[i % 3].amount = -1;
    }
}

/// False: it gives no answer.
using action = bool (*)(taken_over&);

std::map<std::string, action> const actions{
    {"one row too many",
     [](taken_over& self) {
         self.reply().count = self.request().capacity + 1;
         return true;
     }},
    {"rows without end",
     [](taken_over& self) {
         self.reply().count = ~std::uint64_t{0};
         return true;
     }},
    {"changes without end",
     [](taken_over& self) {
         self.reply().changed_rows = all_rows - 1;
         return true;
     }},
    {"a change behind the rows",
     [](taken_over& self) {
         list_rows(self, {0, 3});
         return true;
     }},
    {"a change far away",
     [](taken_over& self) {
         list_rows(self, {~0U});
         return true;
     }},
    {"more written than there is space for",
     [](taken_over& self) {
         self.reply().written = self.request().capacity + 1;
         ::usleep(1000);
         return true;
     }},
    {"written without end",
     [](taken_over& self) {
         self.reply().written = ~std::uint64_t{0} - 1;
         ::usleep(1000);
         return true;
     }},
    {"the same row twice",
     [](taken_over& self) {
         list_rows(self, {2, 1, 2, 2});
         return true;
     }},
    {"a code",
     [](taken_over& self) {
         self.reply().code = 1 << 30;
         return true;
     }},
    {"a later tick",
     [](taken_over& self) {
         self.publish(self.sequence + 5);
         return false;
     }},
    {"an older tick",
     [](taken_over& self) {
         self.publish(self.sequence - 2);
         return false;
     }},
    {"hang", [](taken_over&) { return false; }},
    {"stop",
     [](taken_over&) {
         ::raise(SIGSTOP);
         return false;
     }},
    {"leave a child",
     [](taken_over& self) {
         leave_a_child(self);
         return false;
     }},
    {"leave a thread",
     [](taken_over&) -> bool {
         std::thread([] { ::pause(); }).detach();
         ::pthread_exit(nullptr);
     }},
    {"long states",
     [](taken_over& self) {
         self.reply().state_tick[0] = self.reply().state_tick[1] = self.request().number;
         self.reply().state_size[0] = ~std::uint64_t{0};
         self.reply().state_size[1] = self.brief.state_capacity + 1;
         return true;
     }},
    {"harm",
     [](taken_over& self) {
         self.rows()[0].amount = harm(plugin_fd, false) + harm(brief_fd, false) + harm(input_fd, false) +
                                 harm(columns_fd, false) + harm(output_fd, true);
         return true;
     }},
    {"scribble",
     [](taken_over& self) {
         std::thread(scribble, std::cref(self), false).detach();
         return true;
     }},
    {"scribble everywhere",
     [](taken_over& self) {
         std::thread(scribble, std::cref(self), true).detach();
         return true;
     }},
};

/// The first answer, to the start.
void start(taken_over& self, std::string const& what) {
    if (what == "start out of step") {
        self.publish(7);
        ::pause();
    } else if (what == "refuse without end") {
        std::memset(self.reply().sentence, 'x', sizeof self.reply().sentence);
        self.reply().code = RATION_E_ARG;
    }
    self.publish(1);
    if (self.brief.create_only != 0) ::_exit(0);
}

}  // namespace

int main(int count, char** argument) {
    std::string const given = count > 1 ? argument[1] : "";
    auto const at = given.find('@');
    auto const what = given.substr(0, at);
    auto const when = at == given.npos ? ~std::uint64_t{0} : std::stoull(given.substr(at + 1));
    taken_over self;
    if (!self.brief_map || !self.input || !self.output) return 2;
    self.reply().asleep = 1;  // so that it is woken for each request
    start(self, what);
    for (;; ++self.sequence) {
        while (self.request().sequence.load() == self.sequence)
            wait_while(self.request().sequence, self.sequence, ration::seconds(1));
        if (::getppid() != self.brief.host) return 0;
        self.write_answer();
        bool const answers = self.request().number != when || actions.at(what)(self);
        if (answers) {
            self.publish(self.sequence + 1);
            self.reply().kept = self.sequence + 1;
        }
    }
}
