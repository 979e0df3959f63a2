// SPDX-License-Identifier: BSL-1.0
#include <cmath>
#include <string>

#include <ration/progress/message.hpp>

#include "support/catch.hpp"

using ration::progress::message_type;
using ration::progress::parse_message;
using ration::progress::phase;

namespace {

std::string const head = " e=3 k=0123456789abcdef j=vae r=2 q=9";

bool reads(std::string const& text) { return static_cast<bool>(parse_message(text)); }

bool reads_step(std::string const& more) { return reads("P1 step" + head + " s=1" + more); }

}  // namespace

TEST_CASE("a step carries its envelope and its numbers", "[message]") {
    std::string const text = "P1 step" + head + " s=1200 c=4 l=-2.5e-1 nf=1 x=5000 d=0.25\n";
    auto const read = parse_message(text);
    REQUIRE(read);
    CHECK(read->job == "vae");
    CHECK(read->token == "0123456789abcdef");
    CHECK(read->run == ration::incarnation_id{3});
    CHECK(read->rank == 2);
    CHECK(read->sequence == 9);
    CHECK(read->body.type == message_type::step);
    CHECK(read->body.step == 1200);
    CHECK(read->body.loss_count == 4);
    CHECK(read->body.loss_mean == -0.25);
    CHECK(read->body.non_finite == 1);
    CHECK(read->body.total_steps == 5000);
    CHECK(read->body.step_seconds == 0.25);
}

TEST_CASE("each other type carries its own keys", "[message]") {
    auto const hello = "P1 hello" + head + " w=8 t=2 v=c1 g=GPU-1,GPU-2";
    REQUIRE(parse_message(hello));
    CHECK(parse_message(hello)->body.world == 8);
    CHECK(parse_message(hello)->body.threads == 2);

    auto const eval = "P1 eval" + head + " s=5 m=accuracy v=0.75";
    REQUIRE(parse_message(eval));
    CHECK(parse_message(eval)->body.metric == "accuracy");
    CHECK(parse_message(eval)->body.value == 0.75);
    auto const unknown = parse_message("P1 eval" + head + " s=5 m=accuracy nf=1");
    REQUIRE(unknown);
    CHECK((unknown->body.non_finite == 1 && std::isnan(unknown->body.value)));
    auto const lost = parse_message("P1 step" + head + " s=5 c=0 nf=2");
    REQUIRE(lost);
    CHECK((lost->body.non_finite == 2 && std::isnan(lost->body.loss_mean)));

    auto const saved = "P1 ckpt" + head + " s=5 ok=1";
    REQUIRE(parse_message(saved));
    CHECK(parse_message(saved)->body.durable);
    CHECK_FALSE(parse_message("P1 ckpt" + head + " s=5 ok=0")->body.durable);

    auto const bye = "P1 bye" + head + " rc=-9 why=error";
    REQUIRE(parse_message(bye));
    CHECK(parse_message(bye)->body.exit_code == -9);
    CHECK(parse_message(bye)->body.why == "error");

    CHECK(parse_message("P1 hb" + head)->body.type == message_type::heartbeat);
}

TEST_CASE("a hello names the devices of its rank and where rank 0 takes commands", "[message]") {
    std::string const first = " e=3 k=0123456789abcdef j=vae r=0 q=1 w=2";
    auto const hello = "P1 hello" + first + " g=cpu-0,cpu-3 rx=/run/ration/rx.7.0";
    REQUIRE(parse_message(hello));
    CHECK(parse_message(hello)->body.devices == "cpu-0,cpu-3");
    CHECK(parse_message(hello)->body.control == "/run/ration/rx.7.0");
    CHECK(reads("P1 hello" + head + " w=2 g=cpu-3"));
    CHECK_FALSE(reads("P1 hello" + head + " w=2 rx=/run/ration/rx.7.0"));  // rank 2

    std::string list = std::string(64, 'a');
    while (list.size() + 65 <= 768) list += "," + std::string(64, 'b');
    CHECK(reads("P1 hello" + first + " g=" + list));
    CHECK(reads("P1 hello" + first + " g=" + std::string(53, 'c') + "," + list));
    CHECK_FALSE(reads("P1 hello" + first + " g=" + std::string(54, 'c') + "," + list));  // 769 characters
    for (auto const& bad :
         {std::string(","), std::string("a,"), std::string(",a"), std::string("a,,b"), std::string(65, 'a')}) {
        INFO(bad);
        CHECK_FALSE(reads("P1 hello" + first + " g=" + bad));
    }
    CHECK(reads("P1 hello" + first + " rx=/d/" + std::string(104, 'x')));
    for (auto const& bad : {"rx=d/rx", "rx=/rx", "rx=/d/", "rx=/d/.", "rx=/d/..", "rx=/", "rx=x"}) {
        INFO(bad);
        CHECK_FALSE(reads("P1 hello" + first + " " + bad));
    }
    CHECK_FALSE(reads("P1 hello" + first + " rx=/d/" + std::string(105, 'x')));
}

TEST_CASE("a job wants devices, answers commands, and says its batch and how long a save took", "[message]") {
    CHECK(parse_message("P1 want" + head + " n=4096")->body.type == message_type::want);
    CHECK(parse_message("P1 want" + head + " n=3")->body.wanted == 3);
    CHECK(reads("P1 want" + head + " n=0"));
    CHECK_FALSE(reads("P1 want" + head + " n=4097"));
    CHECK_FALSE(reads("P1 want" + head + " n=-1"));
    CHECK_FALSE(reads("P1 want" + head));

    auto const answer = parse_message("P1 ack" + head + " c=18446744073709551615 ok=1");
    REQUIRE(answer);
    CHECK(answer->body.type == message_type::acknowledge);
    CHECK(answer->body.command == 18446744073709551615ULL);
    CHECK(answer->body.taken_in);
    CHECK_FALSE(parse_message("P1 ack" + head + " c=1 ok=0")->body.taken_in);
    for (auto const* const bad : {"", " c=1", " ok=1", " c=0 ok=1", " c=1 ok=2", " c=x ok=1"}) {
        INFO(bad);
        CHECK_FALSE(reads("P1 ack" + head + bad));
    }

    CHECK(parse_message("P1 ckpt" + head + " s=5 ok=1 d=0.75")->body.save_seconds == 0.75);
    CHECK(parse_message("P1 ckpt" + head + " s=5 ok=1 d=0.75")->body.step_seconds == 0);
    CHECK_FALSE(reads("P1 ckpt" + head + " s=5 ok=1 d=-1"));
    CHECK(parse_message("P1 step" + head + " s=1 c=1 l=2 b=512")->body.batch == 512);
    CHECK_FALSE(reads_step(" c=1 l=2 b=0"));
    CHECK_FALSE(reads_step(" c=1 l=2 b=4294967297"));
}

TEST_CASE("a phase is one of seven words, any other is no error", "[message]") {
    CHECK(parse_message("P1 phase" + head + " ph=init")->body.now == phase::init);
    CHECK(parse_message("P1 phase" + head + " ph=train")->body.now == phase::train);
    CHECK(parse_message("P1 phase" + head + " ph=idle")->body.now == phase::idle);
    CHECK(parse_message("P1 phase" + head + " ph=warmup")->body.now == phase::other);
}

TEST_CASE("what is not known is passed over", "[message]") {
    CHECK(reads("P1 step" + head + " s=1 c=0 zz=anything zz=again"));
    CHECK(parse_message("P1 later" + head + " s=abc")->body.type == message_type::unknown);
    CHECK(parse_message("P1 hb" + head + " l=nan")->body.type == message_type::heartbeat);
}

TEST_CASE("the mean of losses is finite, and there exactly when losses are", "[message]") {
    CHECK(reads_step(" c=1 l=0"));
    CHECK(reads_step(" c=0 nf=3"));
    for (auto const* const bad :
         {" c=1 l=nan", " c=1 l=-nan", " c=1 l=inf", " c=1 l=-inf", " c=1 l=infinity", " c=1 l=NaN", " c=1 l=1e999",
          " c=1 l=0x10", " c=1 l=+1", " c=1 l=1,5", " c=1 l=-", " c=1 l=1.5x", " c=1", " c=0 l=1", " nf=1 l=1", ""}) {
        INFO(bad);
        CHECK_FALSE(reads_step(bad));
    }
}

TEST_CASE("counts and numbers are bounded", "[message]") {
    CHECK(reads_step(" c=4294967296 l=1"));
    CHECK_FALSE(reads_step(" c=4294967297 l=1"));
    CHECK_FALSE(reads_step(" c=-1 l=1"));
    CHECK_FALSE(reads_step(" c=0 nf=4294967297"));
    CHECK_FALSE(reads_step(" c=0 d=-1"));
    CHECK_FALSE(reads_step(" c=0 x=18446744073709551616"));
    CHECK(reads("P1 hb e=4294967295 k=a j=b r=4294967295 q=18446744073709551615"));
    CHECK_FALSE(reads("P1 hb e=4294967296 k=a j=b r=0 q=1"));
    CHECK_FALSE(reads("P1 hb e=1 k=a j=b r=0 q=0"));
    CHECK_FALSE(reads("P1 ckpt" + head + " s=1 ok=2"));
    CHECK(reads("P1 eval" + head + " s=1 m=" + std::string(64, 'm') + " v=1"));
    CHECK_FALSE(reads("P1 eval" + head + " s=1 m=" + std::string(65, 'm') + " v=1"));
}

TEST_CASE("an eval carries a value or says that it has none", "[message]") {
    CHECK(reads("P1 eval" + head + " s=1 m=acc nf=1"));
    CHECK_FALSE(reads("P1 eval" + head + " s=1 m=acc nf=1 v=0"));
    CHECK_FALSE(reads("P1 eval" + head + " s=1 m=acc"));
    CHECK_FALSE(reads("P1 eval" + head + " s=1 m=acc v=inf"));
}

TEST_CASE("every key of the envelope is needed, once", "[message]") {
    CHECK(reads("P1 hb e=1 k=a j=b r=0 q=1"));
    for (auto const* const bad :
         {"P1 hb k=a j=b r=0 q=1", "P1 hb e=1 j=b r=0 q=1", "P1 hb e=1 k=a r=0 q=1", "P1 hb e=1 k=a j=b q=1",
          "P1 hb e=1 k=a j=b r=0", "P1 hb e=1 e=1 k=a j=b r=0 q=1", "P1 hb e=1 k=a j=b r=0 q=1 q=2", "P1 hb"}) {
        INFO(bad);
        CHECK_FALSE(reads(bad));
    }
}

TEST_CASE("the grammar is kept to the letter", "[message]") {
    std::string const good = "P1 hb e=1 k=a j=b r=0 q=1";
    CHECK(reads(good + "\n"));
    CHECK_FALSE(reads(good + "\n\n"));
    CHECK_FALSE(reads(good + " "));
    CHECK_FALSE(reads(good + " \n"));
    CHECK_FALSE(reads(" " + good));
    CHECK_FALSE(reads("P1  hb e=1 k=a j=b r=0 q=1"));
    CHECK_FALSE(reads("P1 hb  e=1 k=a j=b r=0 q=1"));
    CHECK_FALSE(reads("P2 hb e=1 k=a j=b r=0 q=1"));
    CHECK_FALSE(reads("p1 hb e=1 k=a j=b r=0 q=1"));
    CHECK_FALSE(reads("P1 HB e=1 k=a j=b r=0 q=1"));
    CHECK_FALSE(reads(""));
    CHECK_FALSE(reads("P1"));
    CHECK_FALSE(reads("P1 "));
    CHECK(reads(good + " abcdefghijklmnop=1"));
    CHECK_FALSE(reads(good + " abcdefghijklmnopq=1"));
    for (auto const* const bad :
         {" 1a=1", " A=1", " =1", " a", " a=", " a=b=c", " a=\x7f", " a=\xc3\xa4", " a=\t", " a-b=1"}) {
        INFO(bad);
        CHECK_FALSE(reads(good + bad));
    }
    CHECK_FALSE(reads(good + std::string(" a=x\0y", 6)));
    CHECK(reads(good + " z=" + std::string(1024 - good.size() - 3, 'z')));
    CHECK_FALSE(reads(good + " z=" + std::string(1025 - good.size() - 3, 'z')));
}

TEST_CASE("an error shows the part that is wrong, safe to print", "[message]") {
    auto const read = parse_message("P1 hb e=\x1b[2J");
    REQUIRE_FALSE(read);
    CHECK(read.failure().code == ration::errc::invalid_value);
    CHECK(read.failure().subject == std::string_view("e=?[2J"));
}
