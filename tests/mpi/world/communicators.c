/* Communicators of every kind: many at once, freed in every way, with the program's attributes. */
#include "tests/mpi/program/check.h"

static int rank, size;

/* Calls of simple collectives, checked: a result of another communicator would differ. */
static void try_out(MPI_Comm comm, const char* what) {
  int own = 0, members = 0, sum = 0, number = -1;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &members);
  expect_ints_arrive(comm, 3, what);
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
  expect(sum == members * (members - 1) / 2, "%s: the sum of ranks is %d", what, sum);
  for (int root = 0; root < members; ++root) {
    number = own == root ? 1000 + root : -1;
    MPI_Bcast(&number, 1, MPI_INT, root, comm);
    expect(number == 1000 + root, "%s: root %d sent %d", what, root, number);
  }
}

static void try_and_free(MPI_Comm comm, const char* what) {
  if (comm == MPI_COMM_NULL) return;
  try_out(comm, what);
  MPI_Comm_free(&comm);
}

static void kinds(void) {
  MPI_Comm comm, sub;
  MPI_Group all, group;
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  try_and_free(comm, "a duplicate made without waiting");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm);
  try_and_free(comm, "a duplicate with hints");
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, -rank, &comm);
  try_and_free(comm, "all but the first, backwards");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm);
  try_and_free(comm, "who shares memory");
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  int range[1][3] = {{0, size - 1, 2}};
  MPI_Group_range_incl(all, 1, range, &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
  try_and_free(comm, "every second rank");
  if (rank % 2 == 0) {
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &comm);
    try_and_free(comm, "a group's own");
  }
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  int dims[2] = {0, 0}, periods[2] = {1, 0}, keep[2] = {1, 0};
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm);
  try_out(comm, "a grid");
  MPI_Cart_sub(comm, keep, &sub);
  try_and_free(sub, "a line of a grid");
  MPI_Comm_dup(comm, &sub);
  int kind = MPI_UNDEFINED;
  try_out(sub, "a duplicate of a grid");
  MPI_Topo_test(sub, &kind);
  expect(kind == MPI_CART, "a grid's duplicate is no grid");
  MPI_Comm_free(&sub);
  MPI_Comm_free(&comm);
  const int next = (rank + 1) % size, weight = 1;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &next, &weight, 1, &next, &weight,
                                 MPI_INFO_NULL, 0, &comm);
  try_and_free(comm, "a graph");
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  try_out(comm, "one to disconnect");
  MPI_Comm_disconnect(&comm);
}

/* Communicators of random members, some of them kept for a while; more in all than the host can
 * have at once. */
static void by_hundreds(int how_many) {
  enum { kKept = 7 };
  MPI_Comm kept[kKept];
  uint64_t random = 11;
  for (int i = 0; i < kKept; ++i) kept[i] = MPI_COMM_NULL;
  for (int turn = 0; turn < how_many; ++turn) {
    const int at = below(&random, kKept), parts = 1 + below(&random, 3);
    const int salt = below(&random, 1000);
    if (kept[at] != MPI_COMM_NULL) MPI_Comm_free(&kept[at]);
    MPI_Comm_split(MPI_COMM_WORLD, (rank * 7 + salt) / 3 % parts, (rank * 31 + salt) % 17,
                   &kept[at]);
    const int which = below(&random, kKept);
    if (kept[which] != MPI_COMM_NULL) try_out(kept[which], "one of hundreds");
  }
  for (int i = 1; i < kKept; ++i) {
    if (kept[i] != MPI_COMM_NULL) MPI_Comm_free(&kept[i]);
  }
  /* The first is never freed, as in programs that forget to. */
}

/* A communicator that is freed while a call of the host is in progress on it. */
static void freed_early(void) {
  for (int turn = 0; turn < 5; ++turn) {
    MPI_Comm comm;
    MPI_Request request;
    int sum = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    try_out(comm, "one with a request");
    MPI_Comm_free(&comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(sum == size * (size - 1) / 2, "a request on a freed communicator: %d", sum);
  }
}

static int deleted = 0, refusals = 0;

/* A delete callback that uses the communicator once more. */
static int on_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)keyval, (void)value, (void)extra;
  try_out(comm, "a communicator that is being freed");
  MPI_Request request;
  int ranks = 0, one = 1, sum = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(sum == ranks, "a request on a communicator that is being freed: %d", sum);
  ++deleted;
  return MPI_SUCCESS;
}

static int on_delete_refused(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  return refusals-- > 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void callbacks(void) {
  MPI_Comm comm;
  int keyval, value = 5;
  for (int before = 0; before < 2; ++before) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (before) try_out(comm, "before its attribute");
    MPI_Comm_set_attr(comm, keyval, &value);
    MPI_Comm_free_keyval(&keyval);
    try_out(comm, "with an attribute");
    MPI_Comm_free(&comm);
    expect(deleted == before + 1, "an attribute was deleted %d times", deleted);
  }
  /* Copied, it is there before what others attach, and deleted after that is gone. */
  MPI_Comm copy;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, on_delete, &keyval, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_attr(comm, keyval, &value);
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_free_keyval(&keyval);
  try_out(copy, "with a copied attribute");
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
  expect(deleted == 4, "attributes were deleted %d times", deleted);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete_refused, &keyval, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_attr(comm, keyval, &value);
  try_out(comm, "before it refuses to go");
  refusals = 1;
  MPI_Comm freed = comm;
  /* MPICH calls the error handler of MPI_COMM_WORLD. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (MPI_Comm_free(&freed) != MPI_SUCCESS) {
    try_out(comm, "after it refused to go");
    MPI_Comm_free(&comm);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free_keyval(&keyval);
}

/* Error handlers, names and attributes stay as the program has set them. */
static void left_alone(void) {
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Info info;
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "mine");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  try_out(comm, "a named one");
  MPI_Comm_get_name(comm, name, &length);
  expect(strcmp(name, "mine") == 0, "its name is %s", name);
  MPI_Comm_get_errhandler(comm, &handler);
  expect(handler == MPI_ERRORS_RETURN, "its error handler has changed");
  MPI_Errhandler_free(&handler);
  MPI_Comm_get_info(comm, &info);
  MPI_Info_free(&info);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  expect(handler == MPI_ERRORS_ARE_FATAL, "the world's error handler has changed");
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

/* MPI_Finalize first deletes the attributes of MPI_COMM_SELF, the last one set first, while MPI
 * still works. */
static int last_words = 0;

static int at_the_end(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)extra;
  int sum = 0, finalized = 1;
  const int turn = *(const int*)value;
  MPI_Finalized(&finalized);
  try_out(MPI_COMM_WORLD, "the world in its end");
  try_out(MPI_COMM_SELF, "this rank in its end");
  MPI_Allreduce(&turn, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(!finalized && sum == size * turn && turn == 2 - last_words, "the end: %d of %d", sum,
         turn);
  if (failures != 0) abort();
  ++last_words;
  return MPI_SUCCESS;
}

static void put_end(void) {
  static int turns[2] = {1, 2};
  for (int i = 0; i < 2; ++i) {
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &turns[i]);
    MPI_Comm_free_keyval(&keyval);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  kinds();
  by_hundreds(argc > 1 ? atoi(argv[1]) : 300);
  freed_early();
  left_alone();
  callbacks();
  put_end();
  const int code = finish();
  return last_words == 2 ? code : 1;
}
