/* A C program that has a table in memory: hands it over as an Arrow stream, learns a model in a thread-safe way of its
 * own, takes rows back without a copy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

enum { ROWS = 400, COLUMNS = 2 };
static double weights[ROWS];
static int64_t ages[ROWS];

/* Everything a stream of one batch needs. It points into arrays that outlive it, so that releasing is only marking. */
static struct {
  int given;
  struct ArrowSchema columns[COLUMNS], *schema_children[COLUMNS];
  struct ArrowArray arrays[COLUMNS], *array_children[COLUMNS];
  const void *buffers[COLUMNS][2], *root_buffers[1];
} table;

static void release_schema(struct ArrowSchema* s) { s->release = NULL; }
static void release_array(struct ArrowArray* a) { a->release = NULL; }
static void release_stream(struct ArrowArrayStream* s) { s->release = NULL; }
static const char* last_error(struct ArrowArrayStream* s) {
  (void)s;
  return NULL;
}

static int get_schema(struct ArrowArrayStream* s, struct ArrowSchema* out) {
  static const char *const names[COLUMNS] = {"age", "weight"}, *const formats[COLUMNS] = {"l", "g"};
  (void)s;
  memset(out, 0, sizeof *out);
  for (int j = 0; j < COLUMNS; ++j) {
    memset(&table.columns[j], 0, sizeof table.columns[j]);
    table.columns[j].name = names[j], table.columns[j].format = formats[j], table.columns[j].release = release_schema;
    table.schema_children[j] = &table.columns[j];
  }
  out->format = "+s", out->name = "", out->n_children = COLUMNS, out->children = table.schema_children,
  out->release = release_schema;
  return 0;
}

static int get_next(struct ArrowArrayStream* s, struct ArrowArray* out) {
  const void* const values[COLUMNS] = {ages, weights};
  (void)s;
  memset(out, 0, sizeof *out);
  if (table.given++) return 0; /* the end: a released array */
  for (int j = 0; j < COLUMNS; ++j) {
    memset(&table.arrays[j], 0, sizeof table.arrays[j]);
    table.buffers[j][1] = values[j];
    table.arrays[j].length = ROWS, table.arrays[j].n_buffers = 2, table.arrays[j].buffers = table.buffers[j],
    table.arrays[j].release = release_array;
    table.array_children[j] = &table.arrays[j];
  }
  out->length = ROWS, out->n_buffers = 1, out->buffers = table.root_buffers, out->n_children = COLUMNS,
  out->children = table.array_children, out->release = release_array;
  return 0;
}

static void must(tessera_status status, const char* what) {
  if (status == TESSERA_OK) return;
  fprintf(stderr, "%s: status %d: %s\n", what, (int)status, tessera_last_error());
  exit(1);
}

static void expect(int truth, const char* what) {
  if (truth) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

static void progress(const tessera_progress* p, void* calls) {
  (void)p;
  ++*(int*)calls;
}

int main(int argc, char** argv) {
  int calls = 0;
  expect(argc == 2, "usage: embed model-file");
  expect(tessera_abi_version() == TESSERA_ABI_VERSION, "library and header have the same ABI");
  for (int i = 0; i < ROWS; ++i) ages[i] = 20 + i * 7 % 50, weights[i] = 50 + 0.5 * (double)ages[i] + (i * 13 % 10);

  tessera_context_options options = {.struct_size = sizeof options, .threads = 2, .progress = progress, .user = &calls};
  tessera_context* context = NULL;
  must(tessera_context_new(&options, &context), "context");

  struct ArrowArrayStream in = {get_schema, get_next, last_error, release_stream, NULL};
  tessera_fit_options fit = {.struct_size = sizeof fit, .method = "tvae", .settings = "epochs=2;batch-size=50"};
  tessera_model* model = NULL;
  must(tessera_fit(context, &fit, &in, &model), "fit");
  expect(in.release == NULL, "the stream was consumed");
  expect(calls > 0, "progress was told");
  must(tessera_model_save(model, argv[1], 1), "save");
  tessera_model_free(model);
  must(tessera_model_load(argv[1], &model), "load");

  struct ArrowArrayStream out;
  must(tessera_sample(context, model, 0, 100, NULL, &out), "sample");
  tessera_model_free(model); /* the stream keeps what it needs */
  int64_t rows = 0;
  for (;;) {
    struct ArrowArray batch;
    expect(out.get_next(&out, &batch) == 0, "a batch");
    if (batch.release == NULL) break;
    expect(batch.n_children == COLUMNS, "two columns");
    for (int64_t i = 0; i < batch.length; ++i) {
      const double weight = ((const double*)batch.children[1]->buffers[1])[batch.children[1]->offset + i];
      expect(isfinite(weight) && weight >= 50 && weight <= 95, "a weight in the range of those seen");
    }
    rows += batch.length;
    batch.release(&batch);
  }
  out.release(&out);
  expect(rows == 100, "100 rows");

  expect(tessera_model_load("not/there", &model) == TESSERA_E_IO, "a missing file is IO");
  expect(strstr(tessera_last_error(), "not/there") != NULL, "the message names the file");
  tessera_context_free(context);
  printf("C program with tessera %s: %lld rows\n", tessera_version(), (long long)rows);
  return 0;
}
