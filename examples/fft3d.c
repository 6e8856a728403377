/* A three-dimensional Fourier transform that uses nothing but MPI and FFTW.
 *
 * The cube of n^3 complex numbers lies in slabs: of P ranks, each holds n/P planes of constant x.
 * FFTW transforms along z and y where the planes lie; then the cube is transposed, so that each
 * rank holds n/P planes of constant y, and FFTW transforms along x. The transpose is one
 * MPI_Alltoall of blocks of (n/P)^2 * n numbers. The inverse goes the same way back.
 *
 * Two answers are known. A field made of a few plane waves has a spectrum of as many peaks, each at
 * its wave vector; and the inverse of the forward transform gives back any field.
 */
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double complex number;

enum { kWaves = 4, kUsage = 2 };

static const double kPi = 3.14159265358979323846;
static const double kTolerance = 1e-9;

typedef struct {
  int n, iterations, json;
} Options;

/* This rank's slab. `planes` is laid out [x][y][z] with `mine` values of x, or after the transpose
 * [y][x][z] with `mine` values of y. */
typedef struct {
  int n, ranks, rank, mine;
  size_t numbers;
  number *planes, *packed, *arrived;
  fftw_plan plane[2], column[2]; /* forward, backward */
  double transpose_seconds;
} Slab;

typedef struct {
  int k[3];
  double amplitude;
} Wave;

typedef struct {
  double error, spectrum_error, transpose_seconds, seconds;
  uint64_t checksum;
} Result;

static Wave wave(int i, int n) {
  const int at[kWaves][3] = {{1, 2, 3}, {0, 5, 1}, {7, 0, 2}, {3, 3, 6}};
  Wave w = {{at[i][0] % n, at[i][1] % n, at[i][2] % n}, 1.0 + 0.5 * i};
  return w;
}

static size_t position(const Slab* s, int first, int second, int third) {
  return ((size_t)first * (size_t)s->n + (size_t)second) * (size_t)s->n + (size_t)third;
}

static void make_plans(Slab* s) {
  const int both[2] = {s->n, s->n}, one[1] = {s->n};
  const int sign[2] = {FFTW_FORWARD, FFTW_BACKWARD};
  for (int d = 0; d < 2; ++d) {
    s->plane[d] = fftw_plan_many_dft(2, both, s->mine, s->planes, NULL, 1, s->n * s->n, s->planes,
                                     NULL, 1, s->n * s->n, sign[d], FFTW_ESTIMATE);
    /* In one plane of constant y: n transforms along x, one for each z. */
    s->column[d] = fftw_plan_many_dft(1, one, s->n, s->planes, NULL, s->n, 1, s->planes, NULL, s->n,
                                      1, sign[d], FFTW_ESTIMATE);
  }
}

static Slab make_slab(int n) {
  Slab s = {.n = n};
  MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  s.mine = n / s.ranks;
  s.numbers = (size_t)s.mine * (size_t)n * (size_t)n;
  s.planes = fftw_alloc_complex(s.numbers);
  s.packed = fftw_alloc_complex(s.numbers);
  s.arrived = fftw_alloc_complex(s.numbers);
  if (s.planes == NULL || s.packed == NULL || s.arrived == NULL) {
    fprintf(stderr, "fft3d: -n %d: no memory for three slabs of %zu bytes\n", n,
            s.numbers * sizeof(number));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  make_plans(&s);
  return s;
}

static void free_slab(Slab* s) {
  for (int d = 0; d < 2; ++d) {
    fftw_destroy_plan(s->plane[d]);
    fftw_destroy_plan(s->column[d]);
  }
  fftw_free(s->planes);
  fftw_free(s->packed);
  fftw_free(s->arrived);
}

/* Swaps x and y of the whole cube: [a][b][z] with `mine` values of a becomes [b][a][z]. */
static void transpose(Slab* s) {
  const double start = MPI_Wtime();
  const size_t row = sizeof(number) * (size_t)s->n;
  const int block = s->mine * s->mine * s->n;
  number* to = s->packed;
  for (int b = 0; b < s->n; ++b) {
    for (int a = 0; a < s->mine; ++a, to += s->n) memcpy(to, s->planes + position(s, a, b, 0), row);
  }
  MPI_Alltoall(s->packed, block, MPI_C_DOUBLE_COMPLEX, s->arrived, block, MPI_C_DOUBLE_COMPLEX,
               MPI_COMM_WORLD);
  const number* from = s->arrived;
  for (int r = 0; r < s->ranks; ++r) {
    for (int b = 0; b < s->mine; ++b) {
      for (int a = 0; a < s->mine; ++a, from += s->n)
        memcpy(s->planes + position(s, b, r * s->mine + a, 0), from, row);
    }
  }
  s->transpose_seconds += MPI_Wtime() - start;
}

static void transform_columns(Slab* s, int direction) {
  for (int y = 0; y < s->mine; ++y) {
    number* plane = s->planes + position(s, y, 0, 0);
    fftw_execute_dft(s->column[direction], plane, plane);
  }
}

static void forward(Slab* s) {
  fftw_execute(s->plane[0]);
  transpose(s);
  transform_columns(s, 0);
}

static void inverse(Slab* s) {
  transform_columns(s, 1);
  transpose(s);
  fftw_execute(s->plane[1]);
  const double scale = 1.0 / ((double)s->n * s->n * s->n);
  for (size_t i = 0; i < s->numbers; ++i) s->planes[i] *= scale;
}

static void plant_waves(Slab* s) {
  for (size_t i = 0; i < s->numbers; ++i) s->planes[i] = 0;
  for (int w = 0; w < kWaves; ++w) {
    const Wave planted = wave(w, s->n);
    for (int x = 0; x < s->mine; ++x)
      for (int y = 0; y < s->n; ++y)
        for (int z = 0; z < s->n; ++z) {
          const long phase = (long)planted.k[0] * (s->rank * s->mine + x) + (long)planted.k[1] * y +
                             (long)planted.k[2] * z;
          s->planes[position(s, x, y, z)] +=
              planted.amplitude * cexp(2 * kPi * I * (double)(phase % s->n) / s->n);
        }
  }
}

/* The largest distance of the spectrum from the peaks that were planted, relative to a peak. */
static double spectrum_error(const Slab* s) {
  const double scale = 1.0 / ((double)s->n * s->n * s->n);
  double largest = 0;
  for (int y = 0; y < s->mine; ++y)
    for (int x = 0; x < s->n; ++x)
      for (int z = 0; z < s->n; ++z) {
        number expected = 0;
        for (int w = 0; w < kWaves; ++w) {
          const Wave planted = wave(w, s->n);
          if (planted.k[0] == x && planted.k[1] == s->rank * s->mine + y && planted.k[2] == z)
            expected += planted.amplitude;
        }
        largest = fmax(largest, cabs(s->planes[position(s, y, x, z)] * scale - expected));
      }
  return largest;
}

/* A hash of an index (the finalizer of SplitMix64). */
static uint64_t mix(uint64_t bits) {
  bits += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

/* Noise in (-1, 1) that depends on the place in the cube alone. */
static number noise(const Slab* s, size_t i) {
  const uint64_t at = (uint64_t)s->rank * s->numbers + i;
  const double unit = 1.0 / 9007199254740992.0; /* 2^-53 */
  return (2 * (double)(mix(2 * at) >> 11) * unit - 1) +
         (2 * (double)(mix(2 * at + 1) >> 11) * unit - 1) * I;
}

/* A checksum of this slab, which depends on all bits of all numbers and on their places. */
static uint64_t checksum(const Slab* s) {
  uint64_t sum = 0;
  for (size_t i = 0; i < s->numbers; ++i) {
    const uint64_t at = (uint64_t)s->rank * s->numbers + i;
    const double parts[2] = {creal(s->planes[i]), cimag(s->planes[i])};
    uint64_t bits[2];
    memcpy(bits, parts, sizeof bits);
    sum += mix(mix(mix(at) ^ bits[0]) ^ bits[1]);
  }
  return sum;
}

static Result run(const Options* options) {
  Slab s = make_slab(options->n);
  Result here = {0}, all = {0};
  plant_waves(&s);
  forward(&s);
  here.spectrum_error = spectrum_error(&s);
  here.checksum = checksum(&s);

  for (size_t i = 0; i < s.numbers; ++i) s.planes[i] = noise(&s, i);
  s.transpose_seconds = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < options->iterations; ++i) {
    forward(&s);
    inverse(&s);
  }
  here.seconds = MPI_Wtime() - start;
  here.transpose_seconds = s.transpose_seconds;
  for (size_t i = 0; i < s.numbers; ++i)
    here.error = fmax(here.error, cabs(s.planes[i] - noise(&s, i)));
  here.checksum = 3 * here.checksum + checksum(&s);

  MPI_Reduce(&here.error, &all.error, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&here.checksum, &all.checksum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  free_slab(&s);
  return all;
}

static void print(const Options* o, const Result* r, int ranks, int good) {
  const char* format =
      o->json ? "{\"n\": %d, \"ranks\": %d, \"iterations\": %d, \"largest_error\": %.3e, "
                "\"spectrum_error\": %.3e, \"spectrum_right\": %s, \"checksum\": \"%016llx\", "
                "\"transpose_seconds\": %.6f, \"seconds\": %.6f, \"right\": %s}\n"
              : "fft3d of %d^3 on %d ranks, %d times forward and back\n"
                "  largest error      %.3e\n  spectrum error     %.3e\n  spectrum right     %s\n"
                "  checksum           %016llx\n  in transposes      %.6f s\n"
                "  in all             %.6f s\n  right              %s\n";
  printf(format, o->n, ranks, o->iterations, r->error, r->spectrum_error,
         r->spectrum_error < kTolerance ? "true" : "false", (unsigned long long)r->checksum,
         r->transpose_seconds, r->seconds, good ? "true" : "false");
}

static const char kHelp[] =
    "Usage: fft3d [-n SIZE] [-i TIMES] [--json]\n"
    "  -n SIZE   numbers along each side of the cube, a multiple of the ranks, 8 to 2048 (64)\n"
    "  -i TIMES  how often to transform forward and back, at least 1 (10)\n"
    "  --json    print one JSON object\n"
    "Exits with 0 when the answers are right, 1 when they are wrong, 2 for bad usage.\n";

static int number_from(const char* text, int low, int high) {
  char* end = NULL;
  const long value = text == NULL ? low - 1L : strtol(text, &end, 10);
  return end == NULL || end == text || *end != '\0' || value < low || value > high ? -1
                                                                                   : (int)value;
}

/* Parses the options. 0 to go on, 1 for help, kUsage for a wrong command line. */
static int read_options(int argc, char** argv, int rank, int ranks, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const char* value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--help") == 0) {
      if (rank == 0) fputs(kHelp, stdout);
      return 1;
    }
    if (strcmp(argv[i], "--json") == 0) {
      options->json = 1;
      continue;
    }
    if (strcmp(argv[i], "-n") == 0) {
      options->n = number_from(value, 8, 2048);
    } else if (strcmp(argv[i], "-i") == 0) {
      options->iterations = number_from(value, 1, 1000000);
    } else {
      if (rank == 0) fprintf(stderr, "fft3d: %s: unknown; see --help\n", argv[i]);
      return kUsage;
    }
    if (options->n < 0 || options->iterations < 0) {
      if (rank == 0)
        fprintf(stderr, "fft3d: %s %s: not in range; see --help\n", argv[i], value ? value : "");
      return kUsage;
    }
    ++i;
  }
  if (options->n % ranks != 0) {
    if (rank == 0)
      fprintf(stderr, "fft3d: -n %d: not a multiple of the %d ranks\n", options->n, ranks);
    return kUsage;
  }
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, good = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options = {.n = 64, .iterations = 10};
  const int stop = read_options(argc, argv, rank, ranks, &options);
  if (stop == 0) {
    const Result result = run(&options);
    if (rank == 0) {
      good = result.error < kTolerance && result.spectrum_error < kTolerance;
      print(&options, &result, ranks, good);
    }
    MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  if (stop != 0) return stop == kUsage ? kUsage : 0;
  return good ? 0 : 1;
}
