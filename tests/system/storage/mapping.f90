! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Stores to an export, named as the argument, and reads back through another map of it.
program mapping
  use pagecast
  use, intrinsic :: iso_c_binding
  implicit none
  character(len=1024) :: uri
  integer(c_int64_t) :: n, i
  integer(c_int) :: flushed, refreshed, unmapped
  type(c_ptr) :: to, from
  real(c_double), pointer :: stored(:), seen(:)

  call get_command_argument(1, uri)
  uri = trim(uri) // c_null_char
  n = pagecast_map_bytes(uri) / 8
  to = pagecast_map(uri, 0_c_int64_t, 0_c_int64_t, pagecast_map_write)
  from = pagecast_map(uri, 0_c_int64_t, n * 8, 0)
  if (.not. c_associated(to) .or. .not. c_associated(from)) error stop 'no map'
  call c_f_pointer(to, stored, [n])
  call c_f_pointer(from, seen, [n])
  print '(f3.1)', sum(seen)
  do i = 1, n
    stored(i) = i
  end do
  flushed = pagecast_flush(to, n * 8)
  refreshed = pagecast_refresh(from, n * 8)
  unmapped = pagecast_unmap(to, n * 8)
  print '(i0, 3(1x, i0), 1x, f0.0)', n, flushed, refreshed, unmapped, sum(seen)
end program
