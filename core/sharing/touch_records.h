// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a process writes while a profile is taken, and the command reads afterwards: a head, and records one after the other,
// each of a multiple of eight bytes. The process maps the file, so that what it has written stays when it is killed.
//
// Numbers are those of the machine that wrote it. Text ends in a zero byte.
#pragma once
#include "core/types.h"

namespace pagecast::core {

inline constexpr char kProfileMagic[8] = {'p', 'g', 'c', 't', 'o', 'u', 'c', 'h'};
inline constexpr uint32_t kProfileVersion = 2;

struct ProfileHead {
  char magic[8];
  uint32_t version;
  uint32_t process;
  int64_t rank;         ///< as the program's launcher says; -1: it does not
  uint64_t started_ns;  ///< by the machine's clock, from its start
  uint64_t started_real_ns; ///< by the clock of the wall, at the same time
  uint64_t last_ns;     ///< when the last record was written, or a nest was left
  uint64_t bytes;       ///< written so far, with this head: a reader goes no further
  uint64_t dropped;     ///< touches for which the file had no room
  char program[200];
};

enum class RecordKind : uint32_t {
  kEnd,     ///< nothing more up to the next whole segment
  kDataSet, ///< DataSetRecord
  kNest,    ///< NestRecord
  kCaller,  ///< CallerRecord
  kTouch,   ///< TouchRecord
};

/// What becomes of the bytes that a reference touches.
enum class Stored : uint16_t {
  kNo,
  kSome, ///< some are stored to
  kAll,  ///< all are, and none is read before
};

struct RecordHead {
  RecordKind kind;
  uint32_t bytes; ///< of the record, with this
};

struct DataSetRecord {
  RecordHead head;
  uint64_t number;
  uint64_t bytes; ///< of the file
  char path[];
};

/// A phase that is a nest of a program compiled with hints.
struct NestRecord {
  RecordHead head;
  uint32_t number, line;
  uint32_t references; ///< groups of them
  uint32_t unseen;     ///< ... whose addresses come from other data: what they touch is not known on entry
  char text[];         ///< the file, and behind its zero byte the function
};

/// A phase that is a function of the program's which reads. It is known by an address in it.
struct CallerRecord {
  RecordHead head;
  uint32_t number, unused;
  uint64_t offset; ///< in the program's file, as it is loaded
  char program[];
};

/// One entry of a nest, and what one of its references touches of a data set; or one read.
struct TouchRecord {
  RecordHead head;
  uint32_t thread, phase, data_set;
  uint16_t loops;
  uint16_t stored;    ///< Stored
  uint64_t begin_ns, end_ns; ///< the end is 0 until the nest is left
  int64_t first;             ///< as Reference has it
  uint64_t span;
  uint64_t trips_and_strides[]; ///< of each loop
};

inline constexpr uint64_t kProfileSegment = 1u << 20; ///< no record lies in two of them

} // namespace pagecast::core
