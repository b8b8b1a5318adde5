! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! APPSP in Fortran: the program of appsp.c, operation for operation, so the digits that it prints are the
! same; its header has the arrays and the sweeps of an iteration. Here the arrays are allocatable and reach
! the procedures as assumed-shape dummies, whose bounds and strides are in descriptors; the first index,
! the unknown, is the fastest. The coefficients are in a COMMON block.
!
! An ordinary Fortran program: nothing in it knows how much memory there is.

module pentadiagonal
  implicit none
  private
  public :: set_coefficients, right_hand_side, rotate, rotate_between, solve_along

  integer, parameter, public :: dp = kind(1.0d0), long = selected_int_kind(18)
  integer, parameter, public :: along_x = 1, along_y = 2, along_z = 3
  real(dp), parameter :: nu = 0.1_dp, epsilon4 = 0.02_dp, sigma = 1.0_dp, sound_speed = 0.2_dp

  real(dp), public :: reflect(5, 5, 3) ! of each axis; its own inverse
  real(dp) :: sound(5, 5, 3)           ! sound_speed * T diag(0, 0, 0, 1, -1) T
  common /frames/ reflect, sound

contains

  subroutine set_coefficients()
    integer :: axis, m, l
    real(dp) :: v(5), square
    do axis = along_x, along_z
      square = 0.0_dp
      do m = 1, 5
        v(m) = 1.0_dp + real(mod(2 * (m - 1) + axis - 1, 5), dp)
        square = square + v(m) * v(m)
      end do
      do l = 1, 5
        do m = 1, 5
          reflect(m, l, axis) = merge(1.0_dp, 0.0_dp, m == l) - 2.0_dp * v(m) * v(l) / square
        end do
      end do
      do l = 1, 5
        do m = 1, 5
          sound(m, l, axis) = sound_speed * (reflect(m, 4, axis) * reflect(4, l, axis) - &
                                             reflect(m, 5, axis) * reflect(5, l, axis))
        end do
      end do
    end do
  end subroutine

  ! Convection, diffusion and damping along each axis are taken from rhs.

  subroutine rhs_along_x(u, rhs)
    real(dp), intent(in) :: u(:, :, :, :)
    real(dp), intent(inout) :: rhs(:, :, :, :)
    real(dp) :: slope(5), speed, flow
    integer :: n, i, j, k, l, m
    n = size(u, 4)
    do k = 2, n - 1
      do j = 2, n - 1
        do i = 2, n - 1
          speed = 0.1_dp + 0.05_dp * u(along_x + 1, i, j, k)
          do m = 1, 5
            slope(m) = 0.5_dp * (u(m, i + 1, j, k) - u(m, i - 1, j, k))
          end do
          do m = 1, 5
            flow = speed * slope(m)
            do l = 1, 5
              flow = flow + sound(m, l, along_x) * slope(l)
            end do
            rhs(m, i, j, k) = rhs(m, i, j, k) - flow + &
              nu * (u(m, i + 1, j, k) - 2.0_dp * u(m, i, j, k) + u(m, i - 1, j, k))
          end do
        end do
        do i = 3, n - 2
          do m = 1, 5
            rhs(m, i, j, k) = rhs(m, i, j, k) - &
              epsilon4 * (u(m, i - 2, j, k) - 4.0_dp * u(m, i - 1, j, k) + 6.0_dp * u(m, i, j, k) - &
                          4.0_dp * u(m, i + 1, j, k) + u(m, i + 2, j, k))
          end do
        end do
      end do
    end do
  end subroutine

  subroutine rhs_along_y(u, rhs)
    real(dp), intent(in) :: u(:, :, :, :)
    real(dp), intent(inout) :: rhs(:, :, :, :)
    real(dp) :: slope(5), speed, flow
    integer :: n, i, j, k, l, m
    n = size(u, 4)
    do k = 2, n - 1
      do j = 2, n - 1
        do i = 2, n - 1
          speed = 0.1_dp + 0.05_dp * u(along_y + 1, i, j, k)
          do m = 1, 5
            slope(m) = 0.5_dp * (u(m, i, j + 1, k) - u(m, i, j - 1, k))
          end do
          do m = 1, 5
            flow = speed * slope(m)
            do l = 1, 5
              flow = flow + sound(m, l, along_y) * slope(l)
            end do
            rhs(m, i, j, k) = rhs(m, i, j, k) - flow + &
              nu * (u(m, i, j + 1, k) - 2.0_dp * u(m, i, j, k) + u(m, i, j - 1, k))
          end do
        end do
      end do
      do j = 3, n - 2
        do i = 2, n - 1
          do m = 1, 5
            rhs(m, i, j, k) = rhs(m, i, j, k) - &
              epsilon4 * (u(m, i, j - 2, k) - 4.0_dp * u(m, i, j - 1, k) + 6.0_dp * u(m, i, j, k) - &
                          4.0_dp * u(m, i, j + 1, k) + u(m, i, j + 2, k))
          end do
        end do
      end do
    end do
  end subroutine

  subroutine rhs_along_z(u, rhs)
    real(dp), intent(in) :: u(:, :, :, :)
    real(dp), intent(inout) :: rhs(:, :, :, :)
    real(dp) :: slope(5), speed, flow
    integer :: n, i, j, k, l, m
    n = size(u, 4)
    do j = 2, n - 1
      do k = 2, n - 1
        do i = 2, n - 1
          speed = 0.1_dp + 0.05_dp * u(along_z + 1, i, j, k)
          do m = 1, 5
            slope(m) = 0.5_dp * (u(m, i, j, k + 1) - u(m, i, j, k - 1))
          end do
          do m = 1, 5
            flow = speed * slope(m)
            do l = 1, 5
              flow = flow + sound(m, l, along_z) * slope(l)
            end do
            rhs(m, i, j, k) = rhs(m, i, j, k) - flow + &
              nu * (u(m, i, j, k + 1) - 2.0_dp * u(m, i, j, k) + u(m, i, j, k - 1))
          end do
        end do
      end do
      do k = 3, n - 2
        do i = 2, n - 1
          do m = 1, 5
            rhs(m, i, j, k) = rhs(m, i, j, k) - &
              epsilon4 * (u(m, i, j, k - 2) - 4.0_dp * u(m, i, j, k - 1) + 6.0_dp * u(m, i, j, k) - &
                          4.0_dp * u(m, i, j, k + 1) + u(m, i, j, k + 2))
          end do
        end do
      end do
    end do
  end subroutine

  !> rhs = what is missing in the equations; stays zero on the boundary, where u is given.
  subroutine right_hand_side(u, rhs, forcing)
    real(dp), intent(in) :: u(:, :, :, :), forcing(:, :, :, :)
    real(dp), intent(inout) :: rhs(:, :, :, :)
    integer :: n, i, j, k, m
    n = size(u, 4)
    do k = 2, n - 1
      do j = 2, n - 1
        do i = 2, n - 1
          do m = 1, 5
            rhs(m, i, j, k) = forcing(m, i, j, k) - sigma * u(m, i, j, k)
          end do
        end do
      end do
    end do
    call rhs_along_x(u, rhs)
    call rhs_along_y(u, rhs)
    call rhs_along_z(u, rhs)
  end subroutine

  !> rhs = matrix * rhs at every point.
  subroutine rotate(rhs, matrix)
    real(dp), intent(inout) :: rhs(:, :, :, :)
    real(dp), intent(in) :: matrix(5, 5)
    real(dp) :: t(5)
    integer :: n, i, j, k, m, l
    n = size(rhs, 4)
    do k = 2, n - 1
      do j = 2, n - 1
        do i = 2, n - 1
          do m = 1, 5
            t(m) = 0.0_dp
            do l = 1, 5
              t(m) = t(m) + matrix(m, l) * rhs(l, i, j, k)
            end do
          end do
          do m = 1, 5
            rhs(m, i, j, k) = t(m)
          end do
        end do
      end do
    end do
  end subroutine

  !> Out of the frame of one axis into that of the next.
  subroutine rotate_between(rhs, from, to)
    real(dp), intent(inout) :: rhs(:, :, :, :)
    integer, intent(in) :: from, to
    real(dp) :: matrix(5, 5)
    integer :: m, l, h
    do l = 1, 5
      do m = 1, 5
        matrix(m, l) = 0.0_dp
        do h = 1, 5
          matrix(m, l) = matrix(m, l) + reflect(m, h, to) * reflect(h, l, from)
        end do
      end do
    end do
    call rotate(rhs, matrix)
  end subroutine

  !> The five diagonals of all lines along an axis, of a step of length 1, for the unknowns that travel at
  !> the speed + extra. The fourth difference is left out next to the boundary, as in the right-hand side.
  subroutine diagonals(axis, extra, u, a, b, c, d, e)
    integer, intent(in) :: axis
    real(dp), intent(in) :: extra, u(:, :, :, :)
    real(dp), intent(inout) :: a(:, :, :), b(:, :, :), c(:, :, :), d(:, :, :), e(:, :, :)
    real(dp) :: damping, flow
    integer :: n, i, j, k, place
    n = size(u, 4)
    do k = 2, n - 1
      do j = 2, n - 1
        do i = 2, n - 1
          place = merge(i, merge(j, k, axis == along_y), axis == along_x)
          damping = merge(epsilon4, 0.0_dp, place >= 3 .and. place <= n - 2)
          flow = 0.5_dp * (0.1_dp + 0.05_dp * u(axis + 1, i, j, k) + extra)
          a(i, j, k) = damping
          b(i, j, k) = -flow - nu - 4.0_dp * damping
          c(i, j, k) = 1.0_dp + (sigma / 3.0_dp + 2.0_dp * nu) + 6.0_dp * damping
          d(i, j, k) = flow - nu - 4.0_dp * damping
          e(i, j, k) = damping
        end do
      end do
    end do
  end subroutine

  ! The three solvers: elimination leaves ones on the diagonal c and changed d and e behind it, then
  ! substitution goes back. Unknowns first to last share their matrix. On the boundary d, e and rhs are zero.

  subroutine solve_along_x(first, last, rhs, a, b, c, d, e)
    integer, intent(in) :: first, last
    real(dp), intent(inout) :: rhs(:, :, :, :), d(:, :, :), e(:, :, :)
    real(dp), intent(in) :: a(:, :, :), b(:, :, :), c(:, :, :)
    real(dp) :: near, pivot, inverse
    integer :: n, i, j, k, m
    n = size(a, 3)
    do k = 2, n - 1
      do j = 2, n - 1
        d(2, j, k) = d(2, j, k) / c(2, j, k)
        e(2, j, k) = e(2, j, k) / c(2, j, k)
        do m = first, last
          rhs(m, 2, j, k) = rhs(m, 2, j, k) / c(2, j, k)
        end do
        do i = 3, n - 1
          near = b(i, j, k) - a(i, j, k) * d(i - 2, j, k)
          pivot = c(i, j, k) - a(i, j, k) * e(i - 2, j, k) - near * d(i - 1, j, k)
          inverse = 1.0_dp / pivot
          d(i, j, k) = inverse * (d(i, j, k) - near * e(i - 1, j, k))
          e(i, j, k) = inverse * e(i, j, k)
          do m = first, last
            rhs(m, i, j, k) = inverse * &
              (rhs(m, i, j, k) - a(i, j, k) * rhs(m, i - 2, j, k) - near * rhs(m, i - 1, j, k))
          end do
        end do
        do i = n - 2, 2, -1
          do m = first, last
            rhs(m, i, j, k) = rhs(m, i, j, k) - d(i, j, k) * rhs(m, i + 1, j, k) - &
              e(i, j, k) * rhs(m, i + 2, j, k)
          end do
        end do
      end do
    end do
  end subroutine

  subroutine solve_along_y(first, last, rhs, a, b, c, d, e)
    integer, intent(in) :: first, last
    real(dp), intent(inout) :: rhs(:, :, :, :), d(:, :, :), e(:, :, :)
    real(dp), intent(in) :: a(:, :, :), b(:, :, :), c(:, :, :)
    real(dp) :: near, pivot, inverse
    integer :: n, i, j, k, m
    n = size(a, 3)
    do k = 2, n - 1
      do i = 2, n - 1
        d(i, 2, k) = d(i, 2, k) / c(i, 2, k)
        e(i, 2, k) = e(i, 2, k) / c(i, 2, k)
        do m = first, last
          rhs(m, i, 2, k) = rhs(m, i, 2, k) / c(i, 2, k)
        end do
      end do
      do j = 3, n - 1
        do i = 2, n - 1
          near = b(i, j, k) - a(i, j, k) * d(i, j - 2, k)
          pivot = c(i, j, k) - a(i, j, k) * e(i, j - 2, k) - near * d(i, j - 1, k)
          inverse = 1.0_dp / pivot
          d(i, j, k) = inverse * (d(i, j, k) - near * e(i, j - 1, k))
          e(i, j, k) = inverse * e(i, j, k)
          do m = first, last
            rhs(m, i, j, k) = inverse * &
              (rhs(m, i, j, k) - a(i, j, k) * rhs(m, i, j - 2, k) - near * rhs(m, i, j - 1, k))
          end do
        end do
      end do
      do j = n - 2, 2, -1
        do i = 2, n - 1
          do m = first, last
            rhs(m, i, j, k) = rhs(m, i, j, k) - d(i, j, k) * rhs(m, i, j + 1, k) - &
              e(i, j, k) * rhs(m, i, j + 2, k)
          end do
        end do
      end do
    end do
  end subroutine

  subroutine solve_along_z(first, last, rhs, a, b, c, d, e)
    integer, intent(in) :: first, last
    real(dp), intent(inout) :: rhs(:, :, :, :), d(:, :, :), e(:, :, :)
    real(dp), intent(in) :: a(:, :, :), b(:, :, :), c(:, :, :)
    real(dp) :: near, pivot, inverse
    integer :: n, i, j, k, m
    n = size(a, 3)
    do j = 2, n - 1
      do i = 2, n - 1
        d(i, j, 2) = d(i, j, 2) / c(i, j, 2)
        e(i, j, 2) = e(i, j, 2) / c(i, j, 2)
        do m = first, last
          rhs(m, i, j, 2) = rhs(m, i, j, 2) / c(i, j, 2)
        end do
      end do
      do k = 3, n - 1
        do i = 2, n - 1
          near = b(i, j, k) - a(i, j, k) * d(i, j, k - 2)
          pivot = c(i, j, k) - a(i, j, k) * e(i, j, k - 2) - near * d(i, j, k - 1)
          inverse = 1.0_dp / pivot
          d(i, j, k) = inverse * (d(i, j, k) - near * e(i, j, k - 1))
          e(i, j, k) = inverse * e(i, j, k)
          do m = first, last
            rhs(m, i, j, k) = inverse * &
              (rhs(m, i, j, k) - a(i, j, k) * rhs(m, i, j, k - 2) - near * rhs(m, i, j, k - 1))
          end do
        end do
      end do
      do k = n - 2, 2, -1
        do i = 2, n - 1
          do m = first, last
            rhs(m, i, j, k) = rhs(m, i, j, k) - d(i, j, k) * rhs(m, i, j, k + 1) - &
              e(i, j, k) * rhs(m, i, j, k + 2)
          end do
        end do
      end do
    end do
  end subroutine

  !> All lines along an axis: the first three unknowns travel alike, the others faster and slower.
  subroutine solve_along(axis, u, rhs, a, b, c, d, e)
    integer, intent(in) :: axis
    real(dp), intent(in) :: u(:, :, :, :)
    real(dp), intent(inout) :: rhs(:, :, :, :)
    real(dp), intent(inout) :: a(:, :, :), b(:, :, :), c(:, :, :), d(:, :, :), e(:, :, :)
    real(dp), parameter :: extra(3) = [0.0_dp, sound_speed, -sound_speed]
    integer, parameter :: first(3) = [1, 4, 5], last(3) = [3, 4, 5]
    integer :: kind
    do kind = 1, 3
      call diagonals(axis, extra(kind), u, a, b, c, d, e)
      select case (axis)
      case (along_x)
        call solve_along_x(first(kind), last(kind), rhs, a, b, c, d, e)
      case (along_y)
        call solve_along_y(first(kind), last(kind), rhs, a, b, c, d, e)
      case (along_z)
        call solve_along_z(first(kind), last(kind), rhs, a, b, c, d, e)
      end select
    end do
  end subroutine
end module

!> The known solution, the start, and how far off the program is.
module problem
  use pentadiagonal
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
    value = 1.5_dp - 0.2_dp * (m - 1) + 0.4_dp * y * z + 0.1_dp * x * x + &
            z * (1.0_dp - z) * (0.7_dp + x) * (1.2_dp - y)
  end function

  subroutine set_exact(u)
    real(dp), intent(out) :: u(:, :, :, :)
    integer :: n, i, j, k, m
    n = size(u, 4)
    do k = 1, n
      do j = 1, n
        do i = 1, n
          do m = 1, 5
            u(m, i, j, k) = exact(n, i, j, k, m)
          end do
        end do
      end do
    end do
  end subroutine

  !> forcing becomes what the equations give for the exact solution.
  subroutine set_forcing(u, rhs, forcing)
    real(dp), intent(in) :: u(:, :, :, :)
    real(dp), intent(inout) :: rhs(:, :, :, :), forcing(:, :, :, :)
    forcing = 0.0_dp
    call right_hand_side(u, rhs, forcing)
    forcing = -rhs
  end subroutine

  !> Inside, a straight line between the two boundary points above and below. Planes in order.
  subroutine set_start(u)
    real(dp), intent(inout) :: u(:, :, :, :)
    real(dp) :: z
    integer :: n, i, j, k, m
    n = size(u, 4)
    do k = 2, n - 1
      z = real(k - 1, dp) / real(n - 1, dp)
      do j = 2, n - 1
        do i = 2, n - 1
          do m = 1, 5
            u(m, i, j, k) = (1.0_dp - z) * u(m, i, j, 1) + z * u(m, i, j, n)
          end do
        end do
      end do
    end do
  end subroutine

  function residual(rhs) result(mean)
    real(dp), intent(in) :: rhs(:, :, :, :)
    real(dp) :: mean
    integer :: n, i, j, k, m
    n = size(rhs, 4)
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

  function error(u) result(mean)
    real(dp), intent(in) :: u(:, :, :, :)
    real(dp) :: mean, off
    integer :: n, i, j, k, m
    n = size(u, 4)
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

  !> Of a smooth error, a step leaves the share 1 - SIGMA / (1 + SIGMA / 3)^3: mean squares fall to 0.33 of
  !> what they were, no less and no more, until rounding is all that is left.
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
      most = 0.37_dp * most
      least = 0.30_dp * least
    end do
    fell = merge(least <= last .and. last <= most, last <= rounding, most > rounding)
  end function
end module

!> The command line, failures and times, as the C programs have them.
include '../command.f90'

program appsp
  use command
  use pentadiagonal
  use problem
  implicit none
  character(96), parameter :: help(*) = [character(96) :: &
    'usage: appsp --memory-size TOTAL [--iterations 2] [--times]', &
    'Scalar pentadiagonal lines along x, y and z of a 3-D grid with five unknowns a point; prints', &
    'what is left of the residual.', &
    '  --memory-size TOTAL  choose a cubic grid whose arrays take TOTAL bytes (units K, M, G are', &
    '                       binary); 160 bytes a point', &
    '  --iterations N       of the three directions in turn', &
    '  --times              seconds of each phase, on stderr']
  real(dp), allocatable, dimension(:, :, :, :) :: u, rhs, forcing
  real(dp), allocatable, dimension(:, :, :) :: a, b, c, d, e
  real(dp) :: first, last, first_error, last_error
  integer(long) :: bytes = 0, iterations = 2, iteration
  integer :: n, status

  call parse_options('appsp', help, bytes, iterations)
  n = side_in(bytes)
  allocate (u(5, n, n, n), rhs(5, n, n, n), forcing(5, n, n, n), stat=status)
  if (status == 0) allocate (a(n, n, n), b(n, n, n), c(n, n, n), d(n, n, n), e(n, n, n), stat=status)
  if (status /= 0) call fail('no memory', 'the arrays cannot be allocated')

  call set_coefficients()
  rhs = 0.0_dp
  d = 0.0_dp
  e = 0.0_dp
  call set_exact(u)
  call set_forcing(u, rhs, forcing)
  call set_start(u)
  call phase('setup')
  first_error = error(u)
  call right_hand_side(u, rhs, forcing)
  first = residual(rhs)
  do iteration = 1, iterations
    if (iteration > 1) call right_hand_side(u, rhs, forcing)
    call rotate(rhs, reflect(:, :, along_x))
    call solve_along(along_x, u, rhs, a, b, c, d, e)
    call rotate_between(rhs, along_x, along_y)
    call solve_along(along_y, u, rhs, a, b, c, d, e)
    call rotate_between(rhs, along_y, along_z)
    call solve_along(along_z, u, rhs, a, b, c, d, e)
    call rotate(rhs, reflect(:, :, along_z))
    u = u + rhs
  end do
  call phase('iterations')
  call right_hand_side(u, rhs, forcing)
  last = residual(rhs)
  last_error = error(u)
  call phase('check')
  call report()

contains

  function side_in(total) result(side)
    integer(long), intent(in) :: total
    integer :: side
    integer(long), parameter :: point_bytes = 160
    side = 0
    do while (int(side + 1, long)**3 <= total / point_bytes)
      side = side + 1
    end do
    if (side < 7) call fail('--memory-size is too small', 'a grid of 7 x 7 x 7 points takes 54K')
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
