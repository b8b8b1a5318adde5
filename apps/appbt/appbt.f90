! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! APPBT in Fortran: the program of appbt.c, operation for operation, so the digits that it prints are the
! same; its header has the arrays and the sweeps of an iteration. Here the arrays lie in two COMMON blocks
! of a fixed largest size and reach the procedures as adjustable arrays, whose shape is that of the grid in
! use. The small operations on blocks are procedures that take the address of a block's first element.
!
! An ordinary Fortran program: nothing in it knows how much memory there is.

module block_tridiagonal
  implicit none
  private
  public :: set_coefficients, right_hand_side, make_blocks, update
  public :: solve_along_x, solve_along_y, solve_along_z

  integer, parameter, public :: dp = kind(1.0d0), long = selected_int_kind(18)
  integer, parameter, public :: along_x = 1, along_y = 2, along_z = 3
  real(dp), parameter :: nu = 0.15_dp, sigma = 1.2_dp, quadratic = 0.01_dp
  real(dp) :: coupling(5, 5, 3)

contains

  subroutine set_coefficients()
    integer :: axis, m, l
    do axis = along_x, along_z
      do l = 1, 5
        do m = 1, 5
          coupling(m, l, axis) = 0.012_dp * real(mod(2 * (m - 1) + 3 * (l - 1) + axis - 1, 5) - 2, dp)
        end do
      end do
    end do
  end subroutine

  !> What is carried along an axis: unknown axis + 1 is the speed, and all five are coupled.
  pure subroutine flux_at(axis, v, f)
    integer, intent(in) :: axis
    real(dp), intent(in) :: v(5)
    real(dp), intent(out) :: f(5)
    integer :: m, l
    do m = 1, 5
      f(m) = 0.06_dp * v(axis + 1) * v(m)
      do l = 1, 5
        f(m) = f(m) + coupling(m, l, axis) * v(l)
      end do
    end do
  end subroutine

  !> Takes convection and diffusion along one axis from r; before and behind are the neighbours.
  pure subroutine subtract_flow(axis, r, before, here, behind)
    integer, intent(in) :: axis
    real(dp), intent(inout) :: r(5)
    real(dp), intent(in) :: before(5), here(5), behind(5)
    real(dp) :: f(5), g(5)
    integer :: m
    call flux_at(axis, before, f)
    call flux_at(axis, behind, g)
    do m = 1, 5
      r(m) = r(m) - 0.5_dp * (g(m) - f(m)) + nu * (behind(m) - 2.0_dp * here(m) + before(m))
    end do
  end subroutine

  !> rhs = what is missing in the equations; stays zero on the boundary, where u is given.
  subroutine right_hand_side(n, u, rhs, forcing)
    integer, intent(in) :: n
    real(dp), intent(in) :: u(5, n, n, n), forcing(5, n, n, n)
    real(dp), intent(inout) :: rhs(5, n, n, n)
    real(dp) :: r(5)
    integer :: i, j, k, m
    do k = 2, n - 1
      do j = 2, n - 1
        do i = 2, n - 1
          do m = 1, 5
            r(m) = forcing(m, i, j, k) - sigma * u(m, i, j, k) - quadratic * u(m, i, j, k) * u(m, i, j, k)
          end do
          call subtract_flow(along_x, r, u(1, i - 1, j, k), u(1, i, j, k), u(1, i + 1, j, k))
          call subtract_flow(along_y, r, u(1, i, j - 1, k), u(1, i, j, k), u(1, i, j + 1, k))
          call subtract_flow(along_z, r, u(1, i, j, k - 1), u(1, i, j, k), u(1, i, j, k + 1))
          do m = 1, 5
            rhs(m, i, j, k) = r(m)
          end do
        end do
      end do
    end do
  end subroutine

  !> The derivative of an axis' part of the equations by a neighbour's unknowns; side = -1 or +1.
  pure subroutine neighbour_block(axis, side, v, out)
    integer, intent(in) :: axis
    real(dp), intent(in) :: side, v(5)
    real(dp), intent(out) :: out(5, 5)
    integer :: m, l
    do l = 1, 5
      do m = 1, 5
        out(m, l) = side * 0.5_dp * coupling(m, l, axis)
      end do
    end do
    do m = 1, 5
      out(m, m) = out(m, m) + side * 0.03_dp * v(axis + 1) - nu
      out(m, axis + 1) = out(m, axis + 1) + side * 0.03_dp * v(m)
    end do
  end subroutine

  !> Of an axis; the reaction is shared among the three.
  pure subroutine diagonal_block(v, out)
    real(dp), intent(in) :: v(5)
    real(dp), intent(out) :: out(5, 5)
    integer :: m
    out = 0.0_dp
    do m = 1, 5
      out(m, m) = 1.0_dp + (sigma + 2.0_dp * quadratic * v(m)) / 3.0_dp + 2.0_dp * nu
    end do
  end subroutine

  !> The blocks of all lines along an axis, of a step of length 1.
  subroutine make_blocks(n, axis, u, a, b, c)
    integer, intent(in) :: n, axis
    real(dp), intent(in) :: u(5, n, n, n)
    real(dp), intent(inout), dimension(5, 5, n, n, n) :: a, b, c
    integer :: i, j, k, di, dj, dk
    di = merge(1, 0, axis == along_x)
    dj = merge(1, 0, axis == along_y)
    dk = merge(1, 0, axis == along_z)
    do k = 2, n - 1
      do j = 2, n - 1
        do i = 2, n - 1
          call neighbour_block(axis, -1.0_dp, u(1, i - di, j - dj, k - dk), a(1, 1, i, j, k))
          call diagonal_block(u(1, i, j, k), b(1, 1, i, j, k))
          call neighbour_block(axis, 1.0_dp, u(1, i + di, j + dj, k + dk), c(1, 1, i, j, k))
        end do
      end do
    end do
  end subroutine

  pure subroutine subtract_times_block(out, left, right)
    real(dp), intent(inout) :: out(5, 5)
    real(dp), intent(in) :: left(5, 5), right(5, 5)
    integer :: m, l, h
    do l = 1, 5
      do h = 1, 5
        do m = 1, 5
          out(m, l) = out(m, l) - left(m, h) * right(h, l)
        end do
      end do
    end do
  end subroutine

  !> c = b^-1 c and r = b^-1 r by Gauss and Jordan; b is used up. No pivots: b is dominated by its diagonal.
  pure subroutine divide(b, c, r)
    real(dp), intent(inout) :: b(5, 5), c(5, 5), r(5)
    real(dp) :: inverse, factor
    integer :: pivot, m, l
    do pivot = 1, 5
      inverse = 1.0_dp / b(pivot, pivot)
      do l = pivot + 1, 5
        b(pivot, l) = inverse * b(pivot, l)
      end do
      do l = 1, 5
        c(pivot, l) = inverse * c(pivot, l)
      end do
      r(pivot) = inverse * r(pivot)
      do m = 1, 5
        if (m == pivot) cycle
        factor = b(m, pivot)
        do l = pivot + 1, 5
          b(m, l) = b(m, l) - factor * b(pivot, l)
        end do
        do l = 1, 5
          c(m, l) = c(m, l) - factor * c(pivot, l)
        end do
        r(m) = r(m) - factor * r(pivot)
      end do
    end do
  end subroutine

  ! The three solvers. A line's first point has only its own block to divide by.
  ! The recurrence of rhs is written out: flang 19 at -O3 takes it to be free of one when both vectors are
  ! dummies of an inlined procedure.

  subroutine solve_along_x(n, rhs, a, b, c)
    integer, intent(in) :: n
    real(dp), intent(inout) :: rhs(5, n, n, n)
    real(dp), intent(inout), dimension(5, 5, n, n, n) :: a, b, c
    integer :: i, j, k, m, h
    do k = 2, n - 1
      do j = 2, n - 1
        call divide(b(1, 1, 2, j, k), c(1, 1, 2, j, k), rhs(1, 2, j, k))
        do i = 3, n - 1
          call subtract_times_block(b(1, 1, i, j, k), a(1, 1, i, j, k), c(1, 1, i - 1, j, k))
          do h = 1, 5
            do m = 1, 5
              rhs(m, i, j, k) = rhs(m, i, j, k) - a(m, h, i, j, k) * rhs(h, i - 1, j, k)
            end do
          end do
          call divide(b(1, 1, i, j, k), c(1, 1, i, j, k), rhs(1, i, j, k))
        end do
        do i = n - 2, 2, -1
          do h = 1, 5
            do m = 1, 5
              rhs(m, i, j, k) = rhs(m, i, j, k) - c(m, h, i, j, k) * rhs(h, i + 1, j, k)
            end do
          end do
        end do
      end do
    end do
  end subroutine

  subroutine solve_along_y(n, rhs, a, b, c)
    integer, intent(in) :: n
    real(dp), intent(inout) :: rhs(5, n, n, n)
    real(dp), intent(inout), dimension(5, 5, n, n, n) :: a, b, c
    integer :: i, j, k, m, h
    do k = 2, n - 1
      do i = 2, n - 1
        call divide(b(1, 1, i, 2, k), c(1, 1, i, 2, k), rhs(1, i, 2, k))
      end do
      do j = 3, n - 1
        do i = 2, n - 1
          call subtract_times_block(b(1, 1, i, j, k), a(1, 1, i, j, k), c(1, 1, i, j - 1, k))
          do h = 1, 5
            do m = 1, 5
              rhs(m, i, j, k) = rhs(m, i, j, k) - a(m, h, i, j, k) * rhs(h, i, j - 1, k)
            end do
          end do
          call divide(b(1, 1, i, j, k), c(1, 1, i, j, k), rhs(1, i, j, k))
        end do
      end do
      do j = n - 2, 2, -1
        do i = 2, n - 1
          do h = 1, 5
            do m = 1, 5
              rhs(m, i, j, k) = rhs(m, i, j, k) - c(m, h, i, j, k) * rhs(h, i, j + 1, k)
            end do
          end do
        end do
      end do
    end do
  end subroutine

  subroutine solve_along_z(n, rhs, a, b, c)
    integer, intent(in) :: n
    real(dp), intent(inout) :: rhs(5, n, n, n)
    real(dp), intent(inout), dimension(5, 5, n, n, n) :: a, b, c
    integer :: i, j, k, m, h
    do j = 2, n - 1
      do i = 2, n - 1
        call divide(b(1, 1, i, j, 2), c(1, 1, i, j, 2), rhs(1, i, j, 2))
      end do
    end do
    do k = 3, n - 1
      do j = 2, n - 1
        do i = 2, n - 1
          call subtract_times_block(b(1, 1, i, j, k), a(1, 1, i, j, k), c(1, 1, i, j, k - 1))
          do h = 1, 5
            do m = 1, 5
              rhs(m, i, j, k) = rhs(m, i, j, k) - a(m, h, i, j, k) * rhs(h, i, j, k - 1)
            end do
          end do
          call divide(b(1, 1, i, j, k), c(1, 1, i, j, k), rhs(1, i, j, k))
        end do
      end do
    end do
    do k = n - 2, 2, -1
      do j = 2, n - 1
        do i = 2, n - 1
          do h = 1, 5
            do m = 1, 5
              rhs(m, i, j, k) = rhs(m, i, j, k) - c(m, h, i, j, k) * rhs(h, i, j, k + 1)
            end do
          end do
        end do
      end do
    end do
  end subroutine

  subroutine update(n, u, rhs)
    integer, intent(in) :: n
    real(dp), intent(inout) :: u(5, n, n, n)
    real(dp), intent(in) :: rhs(5, n, n, n)
    integer :: i, j, k, m
    do k = 2, n - 1
      do j = 2, n - 1
        do i = 2, n - 1
          do m = 1, 5
            u(m, i, j, k) = u(m, i, j, k) + rhs(m, i, j, k)
          end do
        end do
      end do
    end do
  end subroutine
end module

!> The known solution, the start, and how far off the program is.
module problem
  use block_tridiagonal
  implicit none
  private
  public :: set_exact, set_forcing, set_start, residual, error, fell

contains

  pure function exact(n, i, j, k, m) result(value)
    integer, intent(in) :: n, i, j, k, m
    real(dp) :: value, x, y, z
    x = real(i - 1, dp) / real(n - 1, dp)
    y = real(j - 1, dp) / real(n - 1, dp)
    z = real(k - 1, dp) / real(n - 1, dp)
    value = 1.2_dp + 0.15_dp * (m - 1) - 0.3_dp * x * z + 0.2_dp * y * y + &
            y * (1.0_dp - y) * (0.6_dp + z) * (1.4_dp - x)
  end function

  !> u is the exact solution; the rest has no other value before it is read.
  subroutine set_exact(n, u, rhs, forcing)
    integer, intent(in) :: n
    real(dp), intent(out), dimension(5, n, n, n) :: u, rhs, forcing
    integer :: i, j, k, m
    do k = 1, n
      do j = 1, n
        do i = 1, n
          do m = 1, 5
            u(m, i, j, k) = exact(n, i, j, k, m)
            rhs(m, i, j, k) = 0.0_dp
            forcing(m, i, j, k) = 0.0_dp
          end do
        end do
      end do
    end do
  end subroutine

  !> forcing becomes what the equations give for the exact solution.
  subroutine set_forcing(n, u, rhs, forcing)
    integer, intent(in) :: n
    real(dp), intent(inout), dimension(5, n, n, n) :: u, rhs, forcing
    call right_hand_side(n, u, rhs, forcing)
    forcing = -rhs
  end subroutine

  !> Inside, a straight line between the first and the last row of the same plane.
  subroutine set_start(n, u)
    integer, intent(in) :: n
    real(dp), intent(inout) :: u(5, n, n, n)
    real(dp) :: y
    integer :: i, j, k, m
    do k = 2, n - 1
      do j = 2, n - 1
        y = real(j - 1, dp) / real(n - 1, dp)
        do i = 2, n - 1
          do m = 1, 5
            u(m, i, j, k) = (1.0_dp - y) * u(m, i, 1, k) + y * u(m, i, n, k)
          end do
        end do
      end do
    end do
  end subroutine

  function residual(n, rhs) result(mean)
    integer, intent(in) :: n
    real(dp), intent(in) :: rhs(5, n, n, n)
    real(dp) :: mean
    integer :: i, j, k, m
    mean = 0.0_dp
    do k = 2, n - 1
      do j = 2, n - 1
        do i = 2, n - 1
          do m = 1, 5
            mean = mean + rhs(m, i, j, k) * rhs(m, i, j, k)
          end do
        end do
      end do
    end do
    mean = mean / (5.0_dp * real(n - 2, dp) * real(n - 2, dp) * real(n - 2, dp))
  end function

  function error(n, u) result(mean)
    integer, intent(in) :: n
    real(dp), intent(in) :: u(5, n, n, n)
    real(dp) :: mean, off
    integer :: i, j, k, m
    mean = 0.0_dp
    do k = 2, n - 1
      do j = 2, n - 1
        do i = 2, n - 1
          do m = 1, 5
            off = u(m, i, j, k) - exact(n, i, j, k, m)
            mean = mean + off * off
          end do
        end do
      end do
    end do
    mean = mean / (5.0_dp * real(n - 2, dp) * real(n - 2, dp) * real(n - 2, dp))
  end function

  !> Of a smooth error, a step leaves the share 1 - S / (1 + S / 3)^3, where S = SIGMA + 2 QUADRATIC u: mean
  !> squares fall to 0.31 of what they were, no less and no more, until rounding is all that is left.
  pure function fell(first, last, iterations)
    real(dp), intent(in) :: first, last
    integer(long), intent(in) :: iterations
    logical :: fell
    real(dp) :: most, least, rounding
    integer(long) :: i
    most = first
    least = first
    rounding = 1.0e-20_dp * first
    do i = 1, iterations
      most = 0.35_dp * most
      least = 0.28_dp * least
    end do
    fell = merge(least <= last .and. last <= most, last <= rounding, most > rounding)
  end function
end module

!> The command line, failures and times, as the C programs have them.
include '../command.f90'

program appbt
  use command
  use block_tridiagonal
  use problem
  implicit none
  character(96), parameter :: help(*) = [character(96) :: &
    'usage: appbt --memory-size TOTAL [--iterations 3] [--times]', &
    'Block tridiagonal lines along x, y and z of a 3-D grid with five coupled unknowns a point;', &
    'prints what is left of the residual.', &
    '  --memory-size TOTAL  choose a cubic grid whose arrays take TOTAL bytes (units K, M, G are', &
    '                       binary); 720 bytes a point, at most 128 points a side', &
    '  --iterations N       of the three directions in turn', &
    '  --times              seconds of each phase, on stderr']
  integer, parameter :: max_side = 128, max_points = max_side**3 ! 1.4 GiB, as code of the small model allows
  real(dp), dimension(25 * max_points) :: a, b, c
  real(dp), dimension(5 * max_points) :: u, rhs, forcing
  common /blocks/ a, b, c
  common /fields/ u, rhs, forcing
  real(dp) :: first, last, first_error, last_error
  integer(long) :: bytes = 0, iterations = 3, iteration
  integer :: n

  call parse_options('appbt', help, bytes, iterations)
  n = side_in(bytes)
  call set_coefficients()
  call set_exact(n, u, rhs, forcing)
  call set_forcing(n, u, rhs, forcing)
  call set_start(n, u)
  call phase('setup')
  first_error = error(n, u)
  call right_hand_side(n, u, rhs, forcing)
  first = residual(n, rhs)
  do iteration = 1, iterations
    if (iteration > 1) call right_hand_side(n, u, rhs, forcing)
    call make_blocks(n, along_x, u, a, b, c)
    call solve_along_x(n, rhs, a, b, c)
    call make_blocks(n, along_y, u, a, b, c)
    call solve_along_y(n, rhs, a, b, c)
    call make_blocks(n, along_z, u, a, b, c)
    call solve_along_z(n, rhs, a, b, c)
    call update(n, u, rhs)
  end do
  call phase('iterations')
  call right_hand_side(n, u, rhs, forcing)
  last = residual(n, rhs)
  last_error = error(n, u)
  call phase('check')
  call report()

contains

  function side_in(total) result(side)
    integer(long), intent(in) :: total
    integer :: side
    integer(long), parameter :: point_bytes = 720
    side = 0
    do while (side <= max_side .and. int(side + 1, long)**3 <= total / point_bytes)
      side = side + 1
    end do
    if (side < 3) call fail('--memory-size is too small', 'a grid of 3 x 3 x 3 points takes 19K')
    if (side > max_side) call fail('--memory-size is too large for the arrays', 'at most 128 points a side')
  end function

  subroutine report()
    logical :: passed
    passed = fell(first, last, iterations) .and. fell(first_error, last_error, iterations)
    print '(a, i0, a, i0, a, i0, a, i0, a)', 'grid: ', n, ' x ', n, ' x ', n, ', ', iterations, ' iterations'
    print '(3(a, es22.16e2))', 'mean square residual: ', first, ' before, ', last, ' after'
    print '(3(a, es22.16e2))', 'mean square error:    ', first_error, ' before, ', last_error, ' after'
    print '(2a)', 'verification: ', merge('passed', 'FAILED', passed)
    if (.not. passed) stop 1, quiet=.true.
  end subroutine
end program
