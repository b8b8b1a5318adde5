! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! What shared.h is for programs in C: ranks, and a data set, which is one file that all ranks work on together. For `include`,
! after command.f90. MPI comes by mpif.h, which any compiler of Fortran can read.

module shared
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit, output_unit
  use command, only: fail, parse_number, argument, usage, begin
  implicit none
  private
  public :: job, data_set, start, part, meet, open_data_set, close_data_set, read_piece, write_piece, flush, refresh
  public :: share_values, begin_measuring, end_measuring, agree, is_mapped, end_ranks
  include 'mpif.h'

  integer, parameter :: dp = kind(1.0d0), long = c_int64_t
  ! As Linux has them.
  integer(c_int), parameter :: read_only = 0, read_write = 2, may_read = 1, may_write = 2, is_shared = 1
  integer(c_int), parameter :: synchronous = 4, invalidate = 2, to_end = 2, kept_mode = int(o'666')
  integer(long), parameter :: page = 65536 ! or a divisor of it, on all machines

  type :: job
    character(:), allocatable :: path
    integer(long) :: bytes = 0, iterations = 0
    logical :: reads = .false., makes = .false., is_made = .false.
    integer :: rank = 0, ranks = 1
  end type

  type :: data_set
    integer(c_int) :: file = -1
    type(c_ptr) :: map = c_null_ptr ! null with --read
    integer(long) :: bytes = 0
  end type

  real(dp) :: measured_since = 0

  interface
    integer(c_int) function c_open(path, flags) bind(c, name='open')
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: flags
    end function
    integer(c_int) function c_creat(path, mode) bind(c, name='creat')
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: mode
    end function
    integer(c_int) function c_close(file) bind(c, name='close')
      import
      integer(c_int), value :: file
    end function
    integer(c_int) function c_ftruncate(file, bytes) bind(c, name='ftruncate')
      import
      integer(c_int), value :: file
      integer(c_int64_t), value :: bytes
    end function
    integer(c_int64_t) function c_lseek(file, offset, whence) bind(c, name='lseek')
      import
      integer(c_int), value :: file, whence
      integer(c_int64_t), value :: offset
    end function
    type(c_ptr) function c_mmap(at, bytes, access, how, file, offset) bind(c, name='mmap')
      import
      type(c_ptr), value :: at
      integer(c_size_t), value :: bytes
      integer(c_int), value :: access, how, file
      integer(c_int64_t), value :: offset
    end function
    integer(c_int) function c_munmap(at, bytes) bind(c, name='munmap')
      import
      type(c_ptr), value :: at
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function c_msync(at, bytes, how) bind(c, name='msync')
      import
      type(c_ptr), value :: at
      integer(c_size_t), value :: bytes
      integer(c_int), value :: how
    end function
    integer(c_int64_t) function c_pread(file, to, bytes, offset) bind(c, name='pread')
      import
      integer(c_int), value :: file
      type(c_ptr), value :: to
      integer(c_size_t), value :: bytes
      integer(c_int64_t), value :: offset
    end function
    integer(c_int64_t) function c_pwrite(file, from, bytes, offset) bind(c, name='pwrite')
      import
      integer(c_int), value :: file
      type(c_ptr), value :: from
      integer(c_size_t), value :: bytes
      integer(c_int64_t), value :: offset
    end function
    integer(c_int) function c_usleep(micros) bind(c, name='usleep')
      import
      integer(c_int), value :: micros
    end function
  end interface

contains

  !> Ends all ranks with a sentence of this one.
  subroutine give_up(what, detail)
    character(*), intent(in) :: what, detail
    integer :: error
    integer(c_int) :: slept
    write (error_unit, '(3a)') what, ': ', detail
    flush (error_unit)
    slept = c_usleep(100000_c_int) ! for mpirun to pass it on, which drops what it has not read when it ends the ranks
    call mpi_abort(mpi_comm_world, 2, error)
  end subroutine

  !> Joins the ranks and reads the command line. The first rank reads it before the others do, so that it alone says what is wrong.
  function start(program, help, iterations) result(j)
    character(*), intent(in) :: program, help(:)
    integer(long), intent(in) :: iterations
    type(job) :: j
    integer :: error
    call mpi_init(error)
    call mpi_comm_rank(mpi_comm_world, j%rank, error)
    call mpi_comm_size(mpi_comm_world, j%ranks, error)
    j%iterations = iterations
    if (j%rank > 0) call meet()
    call read_options(program, help, j)
    if (j%rank == 0) call meet()
    if (j%rank > 0) open (output_unit, file='/dev/null')
  end function

  subroutine read_options(program, help, j)
    character(*), intent(in) :: program, help(:)
    type(job), intent(inout) :: j
    character(:), allocatable :: name
    logical :: timed
    integer :: i
    timed = .false.
    call begin(program, timed)
    i = 1
    do while (i <= command_argument_count())
      name = argument(i)
      i = i + 1
      select case (name)
      case ('--help')
        call usage(output_unit, help)
        stop, quiet=.true.
      case ('--times')
        timed = j%rank == 0
      case ('--make')
        j%makes = .true.
      case ('--made')
        j%is_made = .true.
      case ('--read')
        j%reads = .true.
      case ('--data', '--size', '--iterations')
        if (i > command_argument_count()) call fail('a word or a number must follow', name)
        if (name == '--data') j%path = argument(i)
        if (name == '--size') j%bytes = parse_number(argument(i))
        if (name == '--iterations') j%iterations = parse_number(argument(i))
        i = i + 1
      case default
        call fail('unknown option (--help lists them)', name)
      end select
    end do
    call begin(program, timed)
    if (.not. allocated(j%path)) call fail('no data set', 'name its file with --data')
    if (j%bytes == 0) call fail('no size', 'give --size, such as 64M')
    if (j%iterations == 0) call fail('nothing to do', 'give --iterations 1 or more')
    if (j%makes .and. j%is_made) call fail('--make and --made', 'one of them, or neither for both')
  end subroutine

  !> The whole range from 0 to `count` is split evenly: where the part of `rank` begins, and where the next one does.
  pure function part(j, count, rank) result(at)
    type(job), intent(in) :: j
    integer(long), intent(in) :: count
    integer, intent(in) :: rank
    integer(long) :: at
    at = count * rank / j%ranks
  end function

  !> Waits without a processor: there may be fewer of these than ranks, and MPI's own waits keep one busy.
  subroutine wait_for(request)
    integer, intent(inout) :: request
    integer :: status(mpi_status_size), error, pause
    integer(c_int) :: slept
    logical :: is_over
    pause = 20
    do
      call mpi_test(request, is_over, status, error)
      if (is_over) exit
      slept = c_usleep(int(pause, c_int))
      pause = min(1000, 2 * pause)
    end do
  end subroutine

  !> Waits for all ranks.
  subroutine meet()
    integer :: request, error
    call mpi_ibarrier(mpi_comm_world, request, error)
    call wait_for(request)
  end subroutine

  !> The file of `bytes`; with `anew`, it is made, and else it must be there.
  function open_data_set(j, bytes, anew) result(d)
    type(job), intent(in) :: j
    integer(long), intent(in) :: bytes
    logical, intent(in) :: anew
    type(data_set) :: d
    character(200) :: words
    integer(long) :: found
    d%bytes = bytes
    if (anew .and. j%rank == 0) then
      d%file = c_creat(j%path // c_null_char, kept_mode)
      if (d%file < 0) call give_up(j%path, 'it cannot be made')
      if (c_ftruncate(d%file, bytes) /= 0) call give_up(j%path, 'it cannot be given its size')
      if (c_close(d%file) /= 0) call give_up(j%path, 'it cannot be closed')
    end if
    call meet()
    d%file = c_open(j%path // c_null_char, merge(read_write, read_only, anew))
    if (d%file < 0) call give_up(j%path, 'it cannot be opened')
    found = c_lseek(d%file, 0_long, to_end)
    write (words, '(a, i0, a, i0, a)') 'it has ', found, ' bytes, and ', bytes, ' belong to that size; make it again'
    if (found < bytes) call give_up(j%path, trim(words))
    if (.not. j%reads) then
      d%map = c_mmap(c_null_ptr, int(bytes, c_size_t), ior(may_read, merge(may_write, 0_c_int, anew)), is_shared, d%file, 0_long)
      if (transfer(d%map, 0_c_intptr_t) == -1) call give_up(j%path, 'it cannot be mapped')
    end if
  end function

  subroutine close_data_set(d)
    type(data_set), intent(inout) :: d
    integer :: error
    if (c_associated(d%map)) error = c_munmap(d%map, int(d%bytes, c_size_t))
    error = c_close(d%file)
  end subroutine

  logical function is_mapped(d)
    type(data_set), intent(in) :: d
    is_mapped = c_associated(d%map)
  end function

  !> With --read: fills `values` from the bytes at `offset`.
  subroutine read_piece(d, offset, values, count)
    type(data_set), intent(in) :: d
    integer(long), intent(in) :: offset, count
    real(dp), intent(out), target :: values(count)
    integer(long) :: done
    integer(long) :: n
    done = 0
    do while (done < 8 * count)
      n = c_pread(d%file, at(c_loc(values), done), int(8 * count - done, c_size_t), offset + done)
      if (n <= 0) call give_up('the data set', 'it cannot be read')
      done = done + n
    end do
  end subroutine

  !> With --read: what `read_piece` is for reading.
  subroutine write_piece(d, offset, values, count)
    type(data_set), intent(in) :: d
    integer(long), intent(in) :: offset, count
    real(dp), intent(in), target :: values(count)
    integer(long) :: done, n
    done = 0
    do while (done < 8 * count)
      n = c_pwrite(d%file, at(c_loc(values), done), int(8 * count - done, c_size_t), offset + done)
      if (n <= 0) call give_up('the data set', 'it cannot be written')
      done = done + n
    end do
  end subroutine

  function at(base, offset) result(address)
    type(c_ptr), intent(in) :: base
    integer(long), intent(in) :: offset
    type(c_ptr) :: address
    address = transfer(transfer(base, 0_c_intptr_t) + offset, c_null_ptr)
  end function

  subroutine sync_pages(d, offset, length, how)
    type(data_set), intent(in) :: d
    integer(long), intent(in) :: offset, length
    integer(c_int), intent(in) :: how
    integer(long) :: from
    from = offset / page * page
    if (.not. c_associated(d%map) .or. length == 0) return
    if (c_msync(at(d%map, from), int(offset + length - from, c_size_t), how) /= 0) call give_up('the data set', 'it cannot be written')
  end subroutine

  !> What this rank has stored there is in the file when this returns.
  subroutine flush(d, offset, length)
    type(data_set), intent(in) :: d
    integer(long), intent(in) :: offset, length
    call sync_pages(d, offset, length, synchronous)
  end subroutine

  !> What others have flushed there is seen from now on.
  subroutine refresh(d, offset, length)
    type(data_set), intent(in) :: d
    integer(long), intent(in) :: offset, length
    call sync_pages(d, offset, length, invalidate)
  end subroutine

  !> Each rank has set some of the values, and left 0 in the others: all get all of them. Sums with 0 are exact.
  subroutine share_values(values, count)
    integer(long), intent(in) :: count
    real(dp), intent(inout), target :: values(count)
    real(dp), allocatable, target :: mine(:)
    integer :: request, error
    call meet()
    mine = values
    call mpi_iallreduce(mine, values, int(count), mpi_double_precision, mpi_sum, mpi_comm_world, request, error)
    call wait_for(request)
  end subroutine

  !> Whether the first rank says so.
  logical function agree(is_right)
    logical, intent(in) :: is_right
    integer, target :: word(1)
    integer :: request, error
    word = merge(1, 0, is_right)
    call mpi_ibcast(word, 1, mpi_integer, 0, mpi_comm_world, request, error)
    call wait_for(request)
    agree = word(1) == 1
  end function

  !> FNV-1a of the values' bits, in halves, since integers may not overflow.
  pure function checksum_of(values) result(sum)
    real(dp), intent(in) :: values(:)
    integer(long), parameter :: half = 4294967295_long
    integer(long) :: sum, low, high
    integer :: i
    sum = ior(ishft(3421674724_long, 32), 2216829733_long)
    do i = 1, size(values)
      sum = ieor(sum, transfer(values(i), 0_long))
      low = iand(sum, half)
      high = ishft(sum, -32) * 435 + ishft(low, 8) + ishft(low * 435, -32)
      sum = ior(iand(low * 435, half), ishft(iand(high, half), 32))
    end do
  end function

  subroutine end_ranks()
    integer :: error
    call mpi_finalize(error)
  end subroutine

  !> The measured part begins: everyone is there.
  subroutine begin_measuring()
    call meet()
    measured_since = mpi_wtime()
  end subroutine

  !> It ends: the checksum of the result and its time, and the program, with 1 where it did not pass.
  subroutine end_measuring(values, passed)
    real(dp), intent(in) :: values(:)
    logical, intent(in) :: passed
    real(dp) :: seconds
    call meet()
    seconds = mpi_wtime() - measured_since
    write (output_unit, '(a, z16.16)') 'checksum: ', checksum_of(values)
    write (output_unit, '(a, f0.3, a)') 'time: ', seconds, ' s'
    write (output_unit, '(2a)') 'verification: ', merge('passed', 'FAILED', passed)
    flush (output_unit)
    call end_ranks()
    if (.not. passed) stop 1, quiet=.true.
  end subroutine
end module
