// weft as a component of Open MPI's framework of collectives: written against Open MPI 4.1 (coll
// 2.0), with conditionals for 5.0 (coll 2.4).
//
// Open MPI asks it about each communicator that is made. It is opened before the ranks exchange
// their values, so that each can publish that it has weft; it starts at the end of MPI_Init and
// ends at the beginning of MPI_Finalize, of which Open MPI's hooks tell.
#include <ompi_config.h>

#include <ompi/communicator/communicator.h>
#include <ompi/constants.h>
#include <ompi/datatype/ompi_datatype.h>
#include <ompi/mca/coll/coll.h>
#include <ompi/mca/hook/base/base.h>
#include <opal/mca/base/mca_base_var.h>
#include <stdlib.h>

#include "mpi/ompi_coll/core.h"
#include "mpi/ompi_coll/module.h"
#include "mpi/ompi_coll/request.h"

// opal/mca/pmix/pmix.h, which needs headers that are not installed; some versions include it.
extern bool opal_pmix_collect_all_data;  // NOLINT(readability-redundant-declaration)

static int weft_register(void);
static int weft_open(void);
static int weft_close(void);
static int weft_init_query(bool progress_threads, bool mpi_threads);
static mca_coll_base_module_t* weft_comm_query(struct ompi_communicator_t* comm, int* priority);

__attribute__((visibility("default"))) mca_coll_base_component_t mca_coll_weft_component = {
    .collm_version =
        {
#ifdef MCA_COLL_BASE_VERSION_2_4_0
            MCA_COLL_BASE_VERSION_2_4_0,
#else
            MCA_COLL_BASE_VERSION_2_0_0,
#endif
            .mca_component_name = "weft",
            MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
                                  OMPI_RELEASE_VERSION),
            .mca_open_component = weft_open,
            .mca_close_component = weft_close,
            .mca_register_component_params = weft_register,
        },
    .collm_data = {.param_field = MCA_BASE_METADATA_PARAM_NONE},
    .collm_init_query = weft_init_query,
    .collm_comm_query = weft_comm_query,
};

// Parameters.

// Above all of Open MPI's own that serve communicators of several ranks.
static int weft_priority = 95;

enum { kMostParameters = 128 };
// Open MPI uses the texts, which it owns, also after it has closed the component.
static struct parameter {
  int index;
  char* text;
} parameters[kMostParameters];
static size_t parameter_count = 0;

static int weft_register(void) {
  const mca_base_component_t* self = &mca_coll_weft_component.collm_version;
  const struct weft_setting* settings = weft_core_settings(&parameter_count);
  if (parameter_count > kMostParameters) return OMPI_ERR_OUT_OF_RESOURCE;
  (void)mca_base_component_var_register(
      self, "priority", "Priority of weft among the components that offer to serve a communicator",
      MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, OPAL_INFO_LVL_6, MCA_BASE_VAR_SCOPE_READONLY,
      &weft_priority);
  for (size_t i = 0; i < parameter_count; ++i) {
    // The variable, if it is set, is shown as the default: it is copied.
    parameters[i].text = getenv(settings[i].variable);
    parameters[i].index = mca_base_component_var_register(
        self, settings[i].parameter, settings[i].description, MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0,
        OPAL_INFO_LVL_4, MCA_BASE_VAR_SCOPE_READONLY, &parameters[i].text);
  }
  return OMPI_SUCCESS;
}

/// A parameter becomes the variable that weft and its software device read. One that is given for
/// this run goes before the variable, one of a file behind it.
static void set_variables(void) {
  size_t count = 0;
  const struct weft_setting* settings = weft_core_settings(&count);
  for (size_t i = 0; i < parameter_count && i < count; ++i) {
    mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
    if (parameters[i].index < 0 || parameters[i].text == NULL) continue;
    if (mca_base_var_get_value(parameters[i].index, NULL, &source, NULL) != OPAL_SUCCESS) continue;
    if (source == MCA_BASE_VAR_SOURCE_DEFAULT) continue;
    setenv(settings[i].variable, parameters[i].text, source != MCA_BASE_VAR_SOURCE_FILE);
  }
}

// Start and end.

static bool is_usable = false;

/// What all ranks know a communicator by. Unique among the communicators of a process that are
/// there at a time: it is what sorts their messages.
static uint64_t number_of(MPI_Comm comm) {
#if OMPI_MAJOR_VERSION >= 5
  // The base is 0 but for communicators that are made of groups alone.
  const ompi_comm_extended_cid_t cid = ompi_comm_get_extended_cid(comm);
  return cid.cid_base * 0x9e3779b97f4a7c15u + cid.cid_sub.u64;
#else
  return comm->c_contextid;
#endif
}

static bool has_envelope(MPI_Datatype type) {
  return type->args != NULL || ompi_datatype_is_predefined(type);
}

static const struct weft_host_facts kFacts = {
    .number_of = number_of,
    .has_envelope = has_envelope,
    .call_in_waits = weft_call_in_waits,
    .new_request = weft_new_request,
    .new_persistent_request = weft_new_persistent_request,
    .complete = weft_complete,
    .hold_type = weft_hold_type,
    .hold_op = weft_hold_op,
};

// NOLINTNEXTLINE(readability-non-const-parameter): its type is the hook's
static void init_bottom(int argc, char** argv, int requested, int* provided) {
  (void)argc, (void)argv, (void)requested, (void)provided;
  weft_core_start(opal_pmix_collect_all_data, &kFacts);
}

static ompi_hook_base_component_t hook = {
    .hookm_version = {OMPI_HOOK_BASE_VERSION_1_0_0, .mca_component_name = "weft"},
    .hookm_mpi_init_bottom = init_bottom,
    .hookm_mpi_finalize_top = weft_core_finish,
};

static int weft_open(void) {
  set_variables();
  is_usable = weft_core_open();
  return OMPI_SUCCESS;
}

static int weft_close(void) {
  if (is_usable) (void)ompi_hook_base_deregister_callbacks(&hook);
  return OMPI_SUCCESS;
}

static int weft_init_query(bool progress_threads, bool mpi_threads) {
  (void)progress_threads, (void)mpi_threads;
  return is_usable ? ompi_hook_base_register_callbacks(&hook) : OMPI_ERR_NOT_AVAILABLE;
}

/// Never waits for other ranks: communicators are made in Open MPI's progress, too.
static mca_coll_base_module_t* weft_comm_query(struct ompi_communicator_t* comm, int* priority) {
  if (OMPI_COMM_IS_INTER(comm) || ompi_comm_size(comm) == 1) return NULL;
  if (weft_priority < 0 || !weft_core_may_serve()) return NULL;
  struct weft_module* module = OBJ_NEW(weft_module);
  if (module == NULL) return NULL;
  *priority = weft_priority;
  return &module->super;
}
