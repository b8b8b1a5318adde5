// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 3D-VIS: pictures of a volume, as of a tomograph, that lies on the disk: slices, a rendering, and the surface where the volume has
// one value. After the description in PACT 2008 (Son, Kandemir and others, section 5).
//
// The data set is N * N * N floats, N a multiple of 32, so that planes are of whole pages; x is innermost: round bodies, each of which fades from its middle. In each view
//   slices    are of one y each: all ranks read all of them, since each draws some columns of x
//   render    looks along z: the ranks form two groups, one for each half of y, whose members draw columns of x of all it reads
//   surface   is of tetrahedra: each rank takes the cells of some planes of z, and reads one plane of the next rank
#include "shared.h"

#include <math.h>

enum { STEP = 32, BODIES = 5, SLICES = 8, EVERY = 7 };

static const char help[] = "usage: mpirun -n RANKS vis --data PATH --size TOTAL [--views 2] [--make | --made] [--read] [--times]\n"
                           "Slices, a rendering and the surface of bodies in a volume; prints areas and a checksum, and checks the areas.\n" SHARED_HELP
                           "  --views N      each with other slices and of another value\n";

static const float kOpaque = 0.02f;

/// What the ranks together make of one view.
struct view {
  double *slices; ///< SLICES * N * N: of each slice, z by x
  double *image;  ///< N * N: y by x
  double *areas;  ///< N: of the cells of each plane
};

struct range {
  uint64_t from, to;
};

/// Middle and radius of a body, as shares of the edge. They are far enough apart not to touch.
static void body(int number, double b[4]) {
  static const double bodies[BODIES][4] = {
      {0.27, 0.26, 0.25, 0.19}, {0.72, 0.28, 0.31, 0.21}, {0.30, 0.74, 0.36, 0.17}, {0.69, 0.70, 0.70, 0.22}, {0.28, 0.36, 0.73, 0.18}};
  memcpy(b, bodies[number], sizeof bodies[number]);
}

/// 1 on the surface of the nearest body's full size, more within and less outside.
static float density(double x, double y, double z) {
  double most = 0, b[4];
  for (int i = 0; i < BODIES; i++) {
    body(i, b);
    const double dx = x - b[0], dy = y - b[1], dz = z - b[2];
    most = fmax(most, 2 - sqrt(dx * dx + dy * dy + dz * dz) / b[3]);
  }
  return (float)most;
}

static struct range own(const struct job *job, uint64_t count) {
  return (struct range){part(job, count, job->rank), part(job, count, job->rank + 1)};
}

static uint64_t plane_bytes(uint64_t n) {
  return n * n * sizeof(float);
}

static void make_data(const struct data_set *d, uint64_t n) {
  const struct range mine = own(d->job, n);
  float *buffer = (float *)allocate(n * n, sizeof *buffer);
  for (uint64_t z = mine.from; z < mine.to; z++) {
    float *plane = (float *)new_piece(d, z * plane_bytes(n), buffer);
    for (uint64_t y = 0; y < n; y++)
      for (uint64_t x = 0; x < n; x++)
        plane[y * n + x] = density(((double)x + 0.5) / (double)n, ((double)y + 0.5) / (double)n, ((double)z + 0.5) / (double)n);
    put_piece(d, z * plane_bytes(n), plane_bytes(n), buffer);
  }
  flush(d, mine.from * plane_bytes(n), (mine.to - mine.from) * plane_bytes(n));
  free(buffer);
}

/// Columns of one slice: of `planes` planes, the row that `row` is in.
static void cut(const float *row, uint64_t planes, uint64_t n, struct range x, double *slice) {
  for (uint64_t z = 0; z < planes; z++)
    for (uint64_t i = x.from; i < x.to; i++) slice[z * n + i] = row[z * n * n + i];
}

static void draw_slices(const struct data_set *d, uint64_t n, uint64_t view, double *slices, float *buffer) {
  const struct range x = own(d->job, n);
  for (uint64_t s = 0; s < SLICES; s++) {
    const uint64_t y = (n * (2 * s + 1) / (2 * SLICES) + view * EVERY) % n;
    double *slice = slices + s * n * n;
    if (d->map)
      cut((const float *)d->map + y * n, n, n, x, slice);
    else
      for (uint64_t z = 0; z < n; z++)
        cut((const float *)piece(d, (z * n + y) * n * sizeof(float), n * sizeof(float), buffer), 1, n, x, slice + z * n);
  }
}

/// Light that comes through planes: of the rows `y`, whose first `rows` is, and of the columns `x`.
static void look_through(const float *rows, uint64_t planes, uint64_t n, struct range x, uint64_t lines, double *light) {
  for (uint64_t z = 0; z < planes; z++)
    for (uint64_t j = 0; j < lines; j++)
      for (uint64_t i = x.from; i < x.to; i++) light[j * n + i] *= 1 - kOpaque * rows[(z * n + j) * n + i];
}

static void render(const struct data_set *d, uint64_t n, double *image, float *buffer) {
  const int groups = d->job->ranks < 2 ? 1 : 2, group = d->job->rank % groups, members = (d->job->ranks - group + groups - 1) / groups;
  const int member = d->job->rank / groups;
  const struct range y = {n * (uint64_t)group / (uint64_t)groups, n * ((uint64_t)group + 1) / (uint64_t)groups};
  const struct range x = {n * (uint64_t)member / (uint64_t)members, n * ((uint64_t)member + 1) / (uint64_t)members};
  for (uint64_t j = y.from; j < y.to; j++)
    for (uint64_t i = x.from; i < x.to; i++) image[j * n + i] = 1;
  if (d->map)
    look_through((const float *)d->map + y.from * n, n, n, x, y.to - y.from, image + y.from * n);
  else
    for (uint64_t z = 0; z < n; z++) {
      const uint64_t bytes = (y.to - y.from) * n * sizeof(float), offset = (z * n + y.from) * n * sizeof(float);
      look_through((const float *)piece(d, offset, bytes, buffer), 1, n, x, y.to - y.from, image + y.from * n);
    }
}

struct point {
  double x, y, z;
};

/// Between the corners `a` and `b` of a cell, where the value is 0.
static struct point between(int a, int b, const double *values) {
  const double t = values[a] / (values[a] - values[b]);
  const double ax = a & 1, ay = a >> 1 & 1, az = a >> 2, bx = b & 1, by = b >> 1 & 1, bz = b >> 2;
  return (struct point){ax + t * (bx - ax), ay + t * (by - ay), az + t * (bz - az)};
}

static double triangle(struct point a, struct point b, struct point c) {
  const double ux = b.x - a.x, uy = b.y - a.y, uz = b.z - a.z, vx = c.x - a.x, vy = c.y - a.y, vz = c.z - a.z;
  const double x = uy * vz - uz * vy, y = uz * vx - ux * vz, z = ux * vy - uy * vx;
  return sqrt(x * x + y * y + z * z) / 2;
}

/// The surface in one tetrahedron, which has one triangle of it or two.
static double tetrahedron(const int corner[4], const double *values) {
  int in[4], out[4], inside = 0, outside = 0;
  for (int i = 0; i < 4; i++) {
    if (values[corner[i]] > 0)
      in[inside++] = corner[i];
    else
      out[outside++] = corner[i];
  }
  if (inside == 0 || outside == 0) return 0;
  if (inside == 2) {
    const struct point a = between(in[0], out[0], values), b = between(in[0], out[1], values), c = between(in[1], out[0], values),
                       e = between(in[1], out[1], values);
    return triangle(a, b, c) + triangle(b, c, e);
  }
  const int *one = inside == 1 ? in : out, *three = inside == 1 ? out : in;
  return triangle(between(one[0], three[0], values), between(one[0], three[1], values), between(one[0], three[2], values));
}

/// The surface in one cell: six tetrahedra around its diagonal.
static double cell(const double *values) {
  static const int tetrahedra[6][4] = {{0, 1, 3, 7}, {0, 1, 5, 7}, {0, 2, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 4, 6, 7}};
  double area = 0;
  for (int i = 0; i < 6; i++) area += tetrahedron(tetrahedra[i], values);
  return area;
}

/// The surface in the cells between planes; `areas` has one number for each plane of cells.
static void surface_of(const float *plane, uint64_t cells, uint64_t n, float value, double *areas) {
  for (uint64_t z = 0; z < cells; z++) {
    double area = 0;
    for (uint64_t y = 0; y + 1 < n; y++)
      for (uint64_t x = 0; x + 1 < n; x++) {
        double values[8];
        int above = 0;
        for (int c = 0; c < 8; c++) {
          values[c] = plane[((z + (c >> 2)) * n + y + (c >> 1 & 1)) * n + x + (c & 1)] - value;
          above += values[c] > 0;
        }
        if (above != 0 && above != 8) area += cell(values);
      }
    areas[z] = area;
  }
}

static void draw_surface(const struct data_set *d, uint64_t n, float value, double *areas, float *buffer) {
  const struct range z = own(d->job, n - 1);
  if (d->map)
    surface_of((const float *)d->map + z.from * n * n, z.to - z.from, n, value, areas + z.from);
  else
    for (uint64_t k = z.from; k < z.to; k++)
      surface_of((const float *)piece(d, k * plane_bytes(n), 2 * plane_bytes(n), buffer), 1, n, value, areas + k);
}

/// Of the bodies where the volume has `value`.
static double area_of(float value) {
  double area = 0, b[4];
  for (int i = 0; i < BODIES; i++) {
    body(i, b);
    area += 4 * 3.14159265358979323846 * b[3] * b[3] * (2 - value) * (2 - value);
  }
  return area;
}

/// Tetrahedra are inside of what is round, and larger where it is small.
static int is_near(double area, double true_area) {
  return fabs(area - true_area) < 0.05 * true_area;
}

static int draw(const struct data_set *d, uint64_t n, uint64_t views) {
  const uint64_t per_view = SLICES * n * n + n * n + n;
  double *all = (double *)allocate(views * per_view, sizeof *all);
  float *buffer = (float *)allocate(2 * n * n, sizeof *buffer);
  int right = 1;
  for (uint64_t i = 0; i < views * per_view; i++) all[i] = 0;
  begin_measuring();
  for (uint64_t v = 0; v < views; v++) {
    double *slices = all + v * per_view, *image = slices + SLICES * n * n, *areas = image + n * n;
    const float value = 1.1f + 0.1f * (float)(v % 4);
    draw_slices(d, n, v, slices, buffer);
    meet();
    phase("slices");
    render(d, n, image, buffer);
    meet();
    phase("render");
    draw_surface(d, n, value, areas, buffer);
    share_values(slices, per_view);
    phase("surface");
    double area = 0;
    for (uint64_t z = 0; z + 1 < n; z++) area += areas[z] / (double)(n * n);
    printf("surface at %.1f: %.6f; the bodies have %.6f\n", (double)value, area, area_of(value));
    right = right && is_near(area, area_of(value));
  }
  const int status = end_measuring(all, views * per_view, right);
  free(all), free(buffer);
  return status;
}

int main(int argc, char **argv) {
  static uint64_t views = 2;
  static const struct app_option options[] = {{"--views", &views, NULL}, {NULL, NULL, NULL}};
  const struct job job = start(argc, argv, "vis", help, options);
  uint64_t n = STEP;
  if (!views) all_give_up(&job, "nothing to do", "give --views 1 or more");
  if (n * plane_bytes(n) > job.bytes) all_give_up(&job, "--size is too small", "32 x 32 x 32 points take 128K");
  if (job.bytes > (uint64_t)1 << 44) all_give_up(&job, "--size is too large", "at most 16384G");
  while ((n + STEP) * plane_bytes(n + STEP) <= job.bytes) n += STEP;
  printf("vis: %llu x %llu x %llu points, %llu views\n", (unsigned long long)n, (unsigned long long)n, (unsigned long long)n,
         (unsigned long long)views);
  struct data_set d = open_data_set(&job, n * plane_bytes(n), !job.is_made, 0);
  if (!job.is_made) make_data(&d, n);
  meet();
  refresh(&d, 0, d.bytes);
  phase("volume");
  const int status = job.makes ? 0 : draw(&d, n, views);
  close_data_set(&d);
  return status;
}
