! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! What the Fortran programs share, as common.h is for those in C: options, errors in one sentence, the time of each
! phase. For `include`: a program of one file stays one.

module command
  use, intrinsic :: iso_fortran_env, only: error_unit, output_unit
  implicit none
  private
  public :: parse_options, fail, phase, parse_number, argument, usage, begin

  integer, parameter :: dp = kind(1.0d0), long = selected_int_kind(18)
  character(:), allocatable :: program_name
  logical :: times = .false.
  integer(long) :: since = 0 ! ticks of the clock when the phase began

contains

  !> Ends the program with status 2, which is never a failed verification (1).
  subroutine fail(what, detail)
    character(*), intent(in) :: what, detail
    write (error_unit, '(5a)') program_name, ': ', what, ': ', detail
    stop 2, quiet=.true.
  end subroutine

  subroutine usage(unit, help)
    integer, intent(in) :: unit
    character(*), intent(in) :: help(:)
    integer :: i
    write (unit, '(a)') (trim(help(i)), i = 1, size(help))
  end subroutine

  function parse_number(text) result(value)
    character(*), intent(in) :: text
    integer(long) :: value, unit
    integer :: digits, status
    unit = 1
    digits = len(text)
    if (scan(text(digits:), 'KkMmGg') == 1) then
      unit = 1024_long**((index('KkMmGg', text(digits:)) + 1) / 2)
      digits = digits - 1
    end if
    status = 1
    if (digits > 0 .and. verify(text(:digits), '0123456789') == 0) then
      read (text(:digits), *, iostat=status) value
    end if
    if (status == 0) then
      if (value > huge(value) / unit) status = 1
    end if
    if (status /= 0) call fail('not a number such as 12 or 256M', text)
    value = value * unit
  end function

  function argument(number) result(text)
    integer, intent(in) :: number
    character(:), allocatable :: text
    integer :: length
    call get_command_argument(number, length=length)
    allocate (character(max(length, 1)) :: text)
    call get_command_argument(number, text)
  end function

  !> For programs that read their options themselves: their name, and whether phases are timed.
  subroutine begin(program, timed)
    character(*), intent(in) :: program
    logical, intent(in) :: timed
    program_name = program
    times = timed
    call system_clock(since)
  end subroutine

  !> `help` are the lines that --help prints. A program without random numbers has no `seed`.
  subroutine parse_options(program, help, bytes, iterations, seed)
    character(*), intent(in) :: program, help(:)
    integer(long), intent(inout) :: bytes, iterations
    integer(long), intent(inout), optional :: seed
    character(:), allocatable :: name
    integer :: i
    program_name = program
    i = 1
    do while (i <= command_argument_count())
      name = argument(i)
      i = i + 1
      select case (name)
      case ('--help')
        call usage(output_unit, help)
        stop, quiet=.true.
      case ('--times')
        times = .true.
        cycle
      case ('--memory-size', '--iterations', '--seed')
        if (name == '--seed' .and. .not. present(seed)) call fail('unknown option (--help lists them)', name)
        if (i > command_argument_count()) call fail('a number must follow', name)
        if (name == '--memory-size') bytes = parse_number(argument(i))
        if (name == '--iterations') iterations = parse_number(argument(i))
        if (name == '--seed') seed = parse_number(argument(i))
        i = i + 1
      case default
        call fail('unknown option (--help lists them)', name)
      end select
    end do
    if (command_argument_count() == 0) then
      call usage(error_unit, help)
      stop 2, quiet=.true.
    end if
    if (iterations == 0) call fail('--iterations is too small', 'at least 1')
    call system_clock(since)
  end subroutine

  !> Ends a phase. The first begins when the options have been parsed.
  subroutine phase(name)
    character(*), intent(in) :: name
    integer(long) :: now, rate
    call system_clock(now, rate)
    if (times) write (error_unit, '(3a, t19, f8.3, a)') &
      program_name, ': ', name, real(now - since, dp) / real(rate, dp), ' s'
    since = now
  end subroutine
end module
