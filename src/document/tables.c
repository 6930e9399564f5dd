#include "document/tables.h"

#include "document/arrivals_document.h"
#include "document/cluster_document.h"
#include "document/fault_document.h"
#include "document/mixture_document.h"
#include "document/network_document.h"
#include "document/pace_document.h"
#include "document/ports.h"
#include "document/profile_document.h"
#include "document/scenario.h"
#include "document/settings.h"
#include "document/workflow_document.h"

const struct document_table document_tables[] = {
    {"workflow", workflow_fields},
    {"task", workflow_task_fields},
    {"input", ports_input_fields},
    {"output", ports_output_fields},
    {"profile", profile_fields},
    {"model", profile_model_fields},
    {"device", profile_device_fields},
    {"point", profile_point_fields},
    {"cluster", cluster_fields},
    {"machines", cluster_machines_fields},
    {"machine-device", cluster_device_fields},
    {"prices", cluster_prices_fields},
    {"network", network_fields},
    {"background", network_background_fields},
    {"scenario", scenario_fields},
    {"pace", pace_fields},
    {"fault", fault_fields},
    {"random", fault_random_fields},
    {"arrivals", arrivals_fields},
    {"burst", arrivals_burst_fields},
    {"diurnal", arrivals_diurnal_fields},
    {"arrival", arrivals_list_fields},
    {"mixture", mixture_fields},
    {"mixture-workflow", mixture_workflow_fields},
    {"pattern", mixture_pattern_fields},
    {"settings", settings_fields},
    {"rows", settings_rows_fields},
    {"functions", settings_functions_fields},
    {"gpus", settings_gpus_fields},
    {"served-model", settings_model_fields},
    {NULL, NULL},
};
