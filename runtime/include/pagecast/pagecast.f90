! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! What pagecast.h has of exports as memory, for Fortran: compile this module with the program. The header documents each function.
!
! A map becomes an array by c_f_pointer. Strings end in c_null_char.
module pagecast
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: pagecast_map, pagecast_map_bytes, pagecast_flush, pagecast_refresh, pagecast_unmap
  integer(c_int), parameter, public :: pagecast_map_write = 1

  interface
    type(c_ptr) function pagecast_map(uri, offset, bytes, flags) bind(c)
      import :: c_ptr, c_char, c_int64_t, c_int
      character(kind=c_char), intent(in) :: uri(*)
      integer(c_int64_t), value :: offset, bytes
      integer(c_int), value :: flags
    end function

    integer(c_int64_t) function pagecast_map_bytes(uri) bind(c)
      import :: c_char, c_int64_t
      character(kind=c_char), intent(in) :: uri(*)
    end function

    integer(c_int) function pagecast_flush(addr, bytes) bind(c)
      import :: c_ptr, c_size_t, c_int
      type(c_ptr), value :: addr
      integer(c_size_t), value :: bytes
    end function

    integer(c_int) function pagecast_refresh(addr, bytes) bind(c)
      import :: c_ptr, c_size_t, c_int
      type(c_ptr), value :: addr
      integer(c_size_t), value :: bytes
    end function

    integer(c_int) function pagecast_unmap(addr, bytes) bind(c)
      import :: c_ptr, c_size_t, c_int
      type(c_ptr), value :: addr
      integer(c_size_t), value :: bytes
    end function
  end interface
end module
