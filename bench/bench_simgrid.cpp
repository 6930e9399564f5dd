/*
 * The side of SimGrid, in two ways: as activities without actors, which saves it the
 * switches between them, and as actors, which is how its programs are usually written.
 *
 * Hosts of SimGrid share their processor among all that runs, so each has a queue here and
 * runs its head alone.
 */
#include "bench_simgrid.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <deque>
#include <string>
#include <vector>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

namespace
{

constexpr double FLOPS_PER_S = 1e9; /* One a nanosecond. */

/* Of this process on a processor: others on the machine do not count. */
double seconds()
{
    timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/* What an activity is: a task of a job, or a transfer along one of its edges. */
struct Step {
    uint32_t job;
    uint32_t number;
    bool is_transfer;
};

struct Server {
    sg4::Host *host;
    std::deque<Step> queue; /* The head runs. */
    sg4::SemaphorePtr wake; /* Of the worker, if it is an actor: one for each in the queue. */
};

class Diamonds
{
  public:
    Diamonds(const diamond_workload &workload, simgrid_style style)
        : workload_(workload), has_actors_(style == SIMGRID_ACTORS || style == SIMGRID_ACTORS_SMALL)
    {
        missing_.resize(workload.job_count);
        latencies_ms_.reserve(workload.job_count);
        for (uint32_t edge = 0; edge < DIAMOND_EDGES; edge++) {
            inputs_[workload.edges[edge][1]]++;
        }
    }

    void build();
    void run(const sg4::Engine &engine, diamond_result *result_out);

  private:
    void start_actors();
    void work(Server &server);
    void set_timer();
    void arrive();
    void ready(uint32_t job, uint32_t task);
    void start_head(Server &server);
    void send(uint32_t job, uint32_t edge);
    void input_came(uint32_t job, uint32_t task);
    void task_ended(const Step &step);
    void on_completion(const sg4::Activity &activity);
    void keep(sg4::Activity &activity, const Step &step);

    const diamond_workload &workload_;
    const bool has_actors_;
    std::array<uint32_t, DIAMOND_TASKS> inputs_{};
    std::vector<Server> servers_;
    std::vector<std::array<uint32_t, DIAMOND_TASKS>> missing_; /* Inputs, by job and task. */
    std::vector<double> latencies_ms_;
    sg4::SemaphorePtr all_ended_ = sg4::Semaphore::create(0);
    std::vector<sg4::ActivityPtr> ended_; /* Still in use while their callback runs. */
    uint32_t arrived_ = 0;
    uint64_t activities_ = 0;
};

void Diamonds::build()
{
    sg4::NetZone *star = sg4::create_star_zone("star");
    const double latency_s = static_cast<double>(workload_.latency_ns) * 1e-9;
    for (uint32_t i = 0; i < workload_.host_count; i++) {
        const std::string name = std::to_string(i);
        sg4::Host *host = star->create_host("host-" + name, FLOPS_PER_S);
        sg4::SplitDuplexLink *link = star->create_split_duplex_link(
            "link-" + name, static_cast<double>(workload_.link_bytes_per_s));
        link->set_latency(latency_s / 2); /* Two links a route. */
        star->add_route(
            host->get_netpoint(), nullptr, nullptr, nullptr,
            {{link, sg4::LinkInRoute::Direction::UP}}, /* symmetrical */ true);
        servers_.push_back({host, {}, sg4::Semaphore::create(0)});
    }
    star->seal();
}

void Diamonds::run(const sg4::Engine &engine, diamond_result *result_out)
{
    const double start = seconds();
    if (has_actors_) {
        start_actors();
    } else {
        sg4::Activity::on_completion_cb(
            [this](const sg4::Activity &activity) { on_completion(activity); });
        set_timer();
    }
    engine.run();
    result_out->cpu_s = seconds() - start;
    result_out->completed = latencies_ms_.size();
    result_out->events = activities_ + arrived_;
    std::sort(latencies_ms_.begin(), latencies_ms_.end());
    double sum_ms = 0;
    for (const double latency_ms : latencies_ms_) {
        sum_ms += latency_ms;
    }
    const size_t count = latencies_ms_.size();
    result_out->mean_ms = count > 0 ? sum_ms / static_cast<double>(count) : 0;
    result_out->p99_ms = count > 0 ? latencies_ms_[(count * 99 + 99) / 100 - 1] : 0;
}

void Diamonds::start_actors()
{
    for (Server &server : servers_) {
        sg4::Actor::create("worker", server.host, [this, &server] { work(server); })->daemonize();
    }
    sg4::Actor::create("client", servers_[0].host, [this] {
        while (arrived_ < workload_.job_count) {
            const double at_s = static_cast<double>(workload_.jobs[arrived_].at_ns) * 1e-9;
            sg4::this_actor::sleep_until(at_s);
            arrive();
        }
        all_ended_->acquire(); /* Daemons alone would be ended with their tasks. */
    });
}

void Diamonds::work(Server &server)
{
    for (;;) {
        server.wake->acquire();
        const Step step = server.queue.front();
        sg4::this_actor::execute(static_cast<double>(workload_.run_ns[step.number]));
        activities_++;
        server.queue.pop_front();
        task_ended(step);
    }
}

void Diamonds::set_timer()
{
    if (arrived_ < workload_.job_count) {
        const double at_s = static_cast<double>(workload_.jobs[arrived_].at_ns) * 1e-9;
        simgrid::kernel::timer::Timer::set(at_s, [this] {
            ended_.clear();
            arrive();
            set_timer();
        });
    }
}

void Diamonds::arrive()
{
    const uint32_t job = arrived_;
    missing_[job] = inputs_;
    arrived_++;
    ready(job, 0);
}

void Diamonds::ready(uint32_t job, uint32_t task)
{
    Server &server = servers_[workload_.jobs[job].hosts[task]];
    server.queue.push_back({job, task, /* is_transfer */ false});
    if (has_actors_) {
        server.wake->release();
    } else if (server.queue.size() == 1) {
        start_head(server);
    }
}

void Diamonds::keep(sg4::Activity &activity, const Step &step)
{
    activity.set_data(new Step(step));
    activity.add_ref(); /* Given back in on_completion(). */
}

void Diamonds::start_head(Server &server)
{
    const Step &step = server.queue.front();
    const sg4::ExecPtr exec = sg4::Exec::init();
    exec->set_flops_amount(static_cast<double>(workload_.run_ns[step.number]));
    exec->set_host(server.host);
    keep(*exec, step);
    exec->start();
}

void Diamonds::send(uint32_t job, uint32_t edge)
{
    const diamond_job &placed = workload_.jobs[job];
    const uint32_t from = placed.hosts[workload_.edges[edge][0]];
    const uint32_t to = placed.hosts[workload_.edges[edge][1]];
    if (from == to) {
        input_came(job, workload_.edges[edge][1]);
        return;
    }
    if (has_actors_) {
        sg4::Actor::create("courier", servers_[from].host, [this, job, edge, from, to] {
            sg4::Comm::sendto(servers_[from].host, servers_[to].host, workload_.edge_bytes[edge]);
            activities_++;
            input_came(job, workload_.edges[edge][1]);
        });
        return;
    }
    const sg4::CommPtr comm = sg4::Comm::sendto_init(servers_[from].host, servers_[to].host);
    comm->set_payload_size(workload_.edge_bytes[edge]);
    keep(*comm, {job, edge, /* is_transfer */ true});
    comm->start();
}

void Diamonds::input_came(uint32_t job, uint32_t task)
{
    missing_[job][task]--;
    if (missing_[job][task] == 0) {
        ready(job, task);
    }
}

void Diamonds::task_ended(const Step &step)
{
    const diamond_job &placed = workload_.jobs[step.job];
    for (uint32_t edge = 0; edge < DIAMOND_EDGES; edge++) {
        if (workload_.edges[edge][0] == step.number) {
            send(step.job, edge);
        }
    }
    if (step.number == DIAMOND_TASKS - 1) {
        const double now_ms = sg4::Engine::get_clock() * 1e3;
        latencies_ms_.push_back(now_ms - static_cast<double>(placed.at_ns) * 1e-6);
        if (has_actors_ && latencies_ms_.size() == workload_.job_count) {
            all_ended_->release();
        }
    }
}

void Diamonds::on_completion(const sg4::Activity &activity)
{
    Step *kept = activity.get_data<Step>();
    const Step step = *kept;
    delete kept;
    ended_.emplace_back(const_cast<sg4::Activity *>(&activity), /* add_ref */ false);
    activities_++;
    if (step.is_transfer) {
        input_came(step.job, workload_.edges[step.number][1]);
        return;
    }
    task_ended(step);
    Server &server = servers_[workload_.jobs[step.job].hosts[step.number]];
    server.queue.pop_front();
    if (!server.queue.empty()) {
        start_head(server);
    }
}

} /* namespace */

void diamond_run_simgrid(
    const diamond_workload *workload, simgrid_style style, diamond_result *result_out)
{
    std::vector<std::string> words = {
        "bench_simgrid",
        "--log=root.thresh:warning",
        "--cfg=network/model:CM02",       /* Rates as they are, not those of a fitted TCP. */
        "--cfg=network/TCP-gamma:0",      /* No limit by round-trip time. */
        "--cfg=network/crosstraffic:off", /* No acknowledgements on the way back. */
    };
    if (style == SIMGRID_ACTIVITIES_FULL) {
        words.push_back("--cfg=network/optim:Full");
    }
    if (style == SIMGRID_ACTORS_SMALL) {
        words.push_back("--cfg=contexts/stack-size:64"); /* KiB. */
        words.push_back("--cfg=contexts/guard-size:0");
    }
    std::vector<char *> arguments;
    for (std::string &word : words) {
        arguments.push_back(word.data());
    }
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    sg4::Engine engine(&count, arguments.data());
    Diamonds diamonds(*workload, style);
    diamonds.build();
    diamonds.run(engine, result_out);
}
