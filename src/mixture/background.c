#include "mixture/background.h"

#include "model/fleet.h"

#define NS_PER_S 1e9

struct program_background background_of_link(
    const struct program_input *input, uint32_t link, uint64_t bytes_per_s)
{
    if (input->links != NULL) {
        return input->links[link];
    }
    const struct network_background *others = &input->fleet->network.background;
    if (bytes_per_s == 0 || others->bytes == 0) {
        return (struct program_background){0};
    }
    const double time_ns = (double)others->bytes / (double)bytes_per_s * NS_PER_S;
    const double load = others->load > 0 ? others->load : others->rate_per_s / NS_PER_S * time_ns;
    return (struct program_background){
        .load = load, .residual_ns = load * time_ns * (others->exponential ? 2 : 1)};
}

double background_of_machine(const struct program_input *input, uint32_t node)
{
    const struct fleet_node *machine = &input->fleet->nodes[node];
    double sum = 0;
    for (uint32_t i = 0; i < machine->worker_count; i++) {
        sum += background_of_worker(input, machine->worker_first + i).load;
    }
    return sum;
}
