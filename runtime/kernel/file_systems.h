// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File systems: their names, what is known of them, and on which the program's large mapped files are. The last is
// for the statistics: whoever wonders why hints for a file help little, or not at all, first wants to know where it is.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstring>

namespace pagecast {

struct FileSystem {
  uint32_t magic; ///< statfs
  const char *name;
  bool in_memory; ///< its pages have nowhere else to be (tmpfs: swap), or are made up
  bool begins_at_once = false; ///< it is known that direct I/O is begun without waiting
};

inline constexpr FileSystem kKnownFileSystems[] = {
    {0xEF53, "ext4", false, true},   {0x58465342, "xfs", false, true}, {0x9123683E, "btrfs", false, true},
    {0xF2F52010, "f2fs", false},     {0x2FC12FC1, "zfs", false},       {0xCA451A4E, "bcachefs", false},
    {0x4D44, "vfat", false},         {0x2011BAB0, "exfat", false},     {0x794C7630, "overlay", false},
    {0x73717368, "squashfs", false}, {0xE0F5E1E2, "erofs", false},     {0x6969, "nfs", false},
    {0x65735546, "fuse", false},     {0xFF534D42, "cifs", false},      {0xFE534D42, "smb2", false},
    {0x01021997, "9p", false},       {0x00C36400, "ceph", false},      {0x0BD00BD0, "lustre", false},
    {0x01021994, "tmpfs", true},     {0x858458F6, "ramfs", true},      {0x958458F6, "hugetlbfs", true},
    {0x9FA0, "proc", true},          {0x62656572, "sysfs", true},
};

/// NULL: none of these.
inline const FileSystem *known_file_system(uint32_t magic) {
  for (const FileSystem &known : kKnownFileSystems)
    if (known.magic == magic) return &known;
  return nullptr;
}

struct FileSystemUse {
  std::atomic<const char *> name{nullptr};
  std::atomic<uint64_t> mappings{0}; ///< ever made, served or not
};

inline constexpr unsigned kFileSystems = 32;
static_assert(sizeof kKnownFileSystems / sizeof *kKnownFileSystems + 4 <= kFileSystems,
              "and four kinds without a name of their own");
inline FileSystemUse file_systems[kFileSystems]; ///< filled from the front

/// Counts a mapping. `name`: os::FileFacts::system, a literal. Any thread, without a lock.
inline void note_file_system(const char *name) {
  for (FileSystemUse &use : file_systems) {
    const char *known = nullptr;
    if (use.name.compare_exchange_strong(known, name)) known = name;
    if (strcmp(known, name) == 0) return use.mappings.fetch_add(1, std::memory_order_relaxed), void();
  }
}

} // namespace pagecast
