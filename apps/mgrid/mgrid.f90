! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! MGRID in Fortran: allocatable arrays that hold all levels of the hierarchy one behind the other, pointers
! that see a level as an array of three dimensions, and assumed-shape dummies, so that the loops know bounds
! and strides only from descriptors. The same method, the same arrays and the same sweeps as mgrid.c,
! which says what they stand for; --memory-size means the same.
!
! An ordinary Fortran program: nothing in it knows how much memory there is.

module grids
  use, intrinsic :: iso_fortran_env, only: real64, int64
  implicit none
  integer, parameter :: max_levels = 32, step = 16, charges = 20
  integer, parameter :: dp = real64, long = int64

  ! Interior points are 1..n; 0 and n + 1 are ghosts, copies of the points at the opposite side.
  type :: grid
    integer(long) :: n1, n3 ! points in the first two dimensions, and in the third
    integer(long) :: first  ! element of the level in u and r
  end type

contains

  pure integer(long) function points(g)
    type(grid), intent(in) :: g
    points = (g%n1 + 2)**2 * (g%n3 + 2)
  end function

  ! The levels below a finest grid of n1 x n1 x n3; returns how many there are.
  integer function make_levels(g, n1, n3) result(levels)
    type(grid), intent(out) :: g(max_levels)
    integer(long), intent(in) :: n1, n3
    levels = 1
    g(1) = grid(n1, n3, 1)
    do while (levels < max_levels)
      if (mod(g(levels)%n1, 2_long) /= 0 .or. mod(g(levels)%n3, 2_long) /= 0) exit
      if (g(levels)%n1 <= 2 .or. g(levels)%n3 <= 2) exit
      g(levels + 1) = grid(g(levels)%n1 / 2, g(levels)%n3 / 2, g(levels)%first + points(g(levels)))
      levels = levels + 1
    end do
  end function

  ! Elements of an array that holds all levels.
  integer(long) function elements(g, levels)
    type(grid), intent(in) :: g(:)
    integer, intent(in) :: levels
    elements = g(levels)%first + points(g(levels)) - 1
  end function

  integer(long) function bytes_of(n1, n3)
    integer(long), intent(in) :: n1, n3
    type(grid) :: g(max_levels)
    integer :: levels
    levels = make_levels(g, n1, n3)
    bytes_of = 8 * (points(g(1)) + 2 * elements(g, levels))
  end function

  ! The largest cube that fits, then as long in the third dimension as fits. n1 = 0: not even the smallest.
  subroutine fit(bytes, n1, n3)
    integer(long), intent(in) :: bytes
    integer(long), intent(out) :: n1, n3
    n1 = 0
    do while (bytes_of(n1 + step, n1 + step) <= bytes)
      n1 = n1 + step
    end do
    n3 = n1
    if (n1 == 0) return
    do while (bytes_of(n1, n3 + step) <= bytes)
      n3 = n3 + step
    end do
  end subroutine

  ! A level as an array of three dimensions.
  function level(array, g) result(view)
    real(dp), target, intent(inout) :: array(:)
    type(grid), intent(in) :: g
    real(dp), pointer :: view(:, :, :)
    view(0:g%n1 + 1, 0:g%n1 + 1, 0:g%n3 + 1) => array(g%first:g%first + points(g) - 1)
  end function

end module

module multigrid
  use grids
  implicit none
  ! Weights by the distance of a neighbour: the point, 6 across faces, 12 across edges, 8 across corners.
  real(dp), parameter :: laplace(0:3) = [-8.0_dp / 3, 0.0_dp, 1.0_dp / 6, 1.0_dp / 12]
  real(dp), parameter :: smoother(0:3) = [-3.0_dp / 8, 1.0_dp / 32, -1.0_dp / 64, 0.0_dp]
  real(dp), parameter :: averages(0:3) = [1.0_dp / 2, 1.0_dp / 4, 1.0_dp / 8, 1.0_dp / 16]

contains

  ! Ghosts get the values of the opposite sides.
  subroutine wrap(u)
    real(dp), intent(inout) :: u(0:, 0:, 0:)
    integer(long) :: n1, n2, n3, i, j, k
    n1 = ubound(u, 1) - 1
    n2 = ubound(u, 2) - 1
    n3 = ubound(u, 3) - 1
    do k = 1, n3
      do j = 1, n2
        u(0, j, k) = u(n1, j, k)
        u(n1 + 1, j, k) = u(1, j, k)
      end do
    end do
    do k = 1, n3
      do i = 0, n1 + 1
        u(i, 0, k) = u(i, n2, k)
        u(i, n2 + 1, k) = u(i, 1, k)
      end do
    end do
    do j = 0, n2 + 1
      do i = 0, n1 + 1
        u(i, j, 0) = u(i, j, n3)
        u(i, j, n3 + 1) = u(i, j, 1)
      end do
    end do
  end subroutine

  ! For the line (j, k): near = the four neighbours of each point across faces in the other two dimensions,
  ! far = the four across edges.
  subroutine line_sums(u, j, k, near, far)
    real(dp), intent(in) :: u(0:, 0:, 0:)
    integer(long), intent(in) :: j, k
    real(dp), intent(out) :: near(0:), far(0:)
    integer(long) :: i
    do i = 0, ubound(u, 1)
      near(i) = u(i, j - 1, k) + u(i, j + 1, k) + u(i, j, k - 1) + u(i, j, k + 1)
      far(i) = u(i, j - 1, k - 1) + u(i, j + 1, k - 1) + u(i, j - 1, k + 1) + u(i, j + 1, k + 1)
    end do
  end subroutine

  ! r = v - A u
  subroutine resid(u, v, r, a)
    real(dp), intent(in) :: u(0:, 0:, 0:), v(0:, 0:, 0:), a(0:3)
    real(dp), intent(inout) :: r(0:, 0:, 0:)
    real(dp) :: near(0:size(u, 1) - 1), far(0:size(u, 1) - 1)
    integer(long) :: i, j, k
    do k = 1, ubound(u, 3) - 1
      do j = 1, ubound(u, 2) - 1
        call line_sums(u, j, k, near, far)
        do i = 1, ubound(u, 1) - 1
          r(i, j, k) = v(i, j, k) - a(0) * u(i, j, k) - a(1) * (u(i - 1, j, k) + u(i + 1, j, k) + near(i)) &
                       - a(2) * (far(i) + near(i - 1) + near(i + 1)) - a(3) * (far(i - 1) + far(i + 1))
        end do
      end do
    end do
    call wrap(r)
  end subroutine

  ! r = r - A u, on the coarser grids, where the right-hand side is not needed again.
  subroutine resid_in_place(u, r, a)
    real(dp), intent(in) :: u(0:, 0:, 0:), a(0:3)
    real(dp), intent(inout) :: r(0:, 0:, 0:)
    real(dp) :: near(0:size(u, 1) - 1), far(0:size(u, 1) - 1)
    integer(long) :: i, j, k
    do k = 1, ubound(u, 3) - 1
      do j = 1, ubound(u, 2) - 1
        call line_sums(u, j, k, near, far)
        do i = 1, ubound(u, 1) - 1
          r(i, j, k) = r(i, j, k) - a(0) * u(i, j, k) - a(1) * (u(i - 1, j, k) + u(i + 1, j, k) + near(i)) &
                       - a(2) * (far(i) + near(i - 1) + near(i + 1)) - a(3) * (far(i - 1) + far(i + 1))
        end do
      end do
    end do
    call wrap(r)
  end subroutine

  ! u = u + C r, where C is an approximation of the inverse of A.
  subroutine psinv(r, u, c)
    real(dp), intent(in) :: r(0:, 0:, 0:), c(0:3)
    real(dp), intent(inout) :: u(0:, 0:, 0:)
    real(dp) :: near(0:size(u, 1) - 1), far(0:size(u, 1) - 1)
    integer(long) :: i, j, k
    do k = 1, ubound(u, 3) - 1
      do j = 1, ubound(u, 2) - 1
        call line_sums(r, j, k, near, far)
        do i = 1, ubound(u, 1) - 1
          u(i, j, k) = u(i, j, k) + (c(0) * r(i, j, k) + c(1) * (r(i - 1, j, k) + r(i + 1, j, k) + near(i)) &
                                     + c(2) * (far(i) + near(i - 1) + near(i + 1)) + c(3) * (far(i - 1) + far(i + 1)))
        end do
      end do
    end do
    call wrap(u)
  end subroutine

  ! s, half as long in each dimension, gets weighted averages of r: its point j lies on point 2 j of r.
  subroutine rprj3(r, s, w)
    real(dp), intent(in) :: r(0:, 0:, 0:), w(0:3)
    real(dp), intent(inout) :: s(0:, 0:, 0:)
    real(dp) :: near(0:size(r, 1) - 1), far(0:size(r, 1) - 1)
    integer(long) :: i, j, k, f
    do k = 1, ubound(s, 3) - 1
      do j = 1, ubound(s, 2) - 1
        call line_sums(r, 2 * j, 2 * k, near, far)
        do i = 1, ubound(s, 1) - 1
          f = 2 * i
          s(i, j, k) = w(0) * r(f, 2 * j, 2 * k) + w(1) * (r(f - 1, 2 * j, 2 * k) + r(f + 1, 2 * j, 2 * k) + near(f)) &
                       + w(2) * (far(f) + near(f - 1) + near(f + 1)) + w(3) * (far(f - 1) + far(f + 1))
        end do
      end do
    end do
    call wrap(s)
  end subroutine

  ! u gets z, half as long, interpolated and added: a point between two of z gets half of each, and so on.
  subroutine interp(z, u)
    real(dp), intent(in) :: z(0:, 0:, 0:)
    real(dp), intent(inout) :: u(0:, 0:, 0:)
    real(dp), dimension(0:size(z, 1) - 1) :: both, above, square ! sums over neighbours in j, in k, in both
    integer(long) :: i, j, k, m
    m = ubound(z, 1)
    do k = 0, ubound(z, 3) - 1
      do j = 0, ubound(z, 2) - 1
        do i = 0, m
          both(i) = z(i, j, k) + z(i, j + 1, k)
          above(i) = z(i, j, k) + z(i, j, k + 1)
          square(i) = both(i) + z(i, j, k + 1) + z(i, j + 1, k + 1)
        end do
        do i = 0, m - 1
          u(2 * i, 2 * j, 2 * k) = u(2 * i, 2 * j, 2 * k) + z(i, j, k)
          u(2 * i + 1, 2 * j, 2 * k) = u(2 * i + 1, 2 * j, 2 * k) + 0.5_dp * (z(i, j, k) + z(i + 1, j, k))
        end do
        do i = 0, m - 1
          u(2 * i, 2 * j + 1, 2 * k) = u(2 * i, 2 * j + 1, 2 * k) + 0.5_dp * both(i)
          u(2 * i + 1, 2 * j + 1, 2 * k) = u(2 * i + 1, 2 * j + 1, 2 * k) + 0.25_dp * (both(i) + both(i + 1))
        end do
        do i = 0, m - 1
          u(2 * i, 2 * j, 2 * k + 1) = u(2 * i, 2 * j, 2 * k + 1) + 0.5_dp * above(i)
          u(2 * i + 1, 2 * j, 2 * k + 1) = u(2 * i + 1, 2 * j, 2 * k + 1) + 0.25_dp * (above(i) + above(i + 1))
        end do
        do i = 0, m - 1
          u(2 * i, 2 * j + 1, 2 * k + 1) = u(2 * i, 2 * j + 1, 2 * k + 1) + 0.25_dp * square(i)
          u(2 * i + 1, 2 * j + 1, 2 * k + 1) = u(2 * i + 1, 2 * j + 1, 2 * k + 1) &
                                               + 0.125_dp * (square(i) + square(i + 1))
        end do
      end do
    end do
    call wrap(u)
  end subroutine

  ! Root of the mean square of the interior points.
  real(dp) function norm(r)
    real(dp), intent(in) :: r(0:, 0:, 0:)
    integer(long) :: i, j, k
    norm = 0
    do k = 1, ubound(r, 3) - 1
      do j = 1, ubound(r, 2) - 1
        do i = 1, ubound(r, 1) - 1
          norm = norm + r(i, j, k) * r(i, j, k)
        end do
      end do
    end do
    norm = sqrt(norm / product(real(shape(r, long) - 2, dp)))
  end function

  ! One V-cycle: residuals down to the coarsest grid, corrections up again.
  subroutine v_cycle(g, levels, u, v, r)
    type(grid), intent(in) :: g(:)
    integer, intent(in) :: levels
    real(dp), target, intent(inout) :: u(:), r(:)
    real(dp), intent(in) :: v(0:, 0:, 0:)
    real(dp), pointer :: uf(:, :, :), rf(:, :, :)
    integer :: f
    do f = 1, levels - 1
      call rprj3(level(r, g(f)), level(r, g(f + 1)), averages)
    end do
    do f = levels, 1, -1
      uf => level(u, g(f))
      rf => level(r, g(f))
      if (f > 1) uf = 0
      if (f < levels) then
        call interp(level(u, g(f + 1)), uf)
        if (f == 1) call resid(uf, v, rf, laplace)
        if (f > 1) call resid_in_place(uf, rf, laplace)
      end if
      call psinv(rf, uf, smoother)
    end do
  end subroutine

end module

include '../command.f90'

program mgrid
  use command
  use grids
  use multigrid
  implicit none
  character(96), parameter :: help(*) = [character(96) :: &
    'usage: mgrid --memory-size TOTAL [--iterations 8] [--seed 1] [--times]', &
    'V-cycles of multigrid for the Poisson equation on a periodic grid with point charges; prints the', &
    'shape and the norm of the residual after each, and checks that it falls.', &
    '  --memory-size TOTAL  bytes of the three arrays (units K, M, G are binary)', &
    '  --iterations N       V-cycles', &
    '  --seed S             of the places of the charges', &
    '  --times              seconds of each phase, on stderr']
  integer(long) :: bytes = 0, iterations = 8, seed = 1
  type(grid) :: g(max_levels)
  real(dp), allocatable, target :: u(:), r(:), v(:)
  real(dp), pointer :: charge(:, :, :)
  real(dp) :: first, last, left
  integer(long) :: n1, n3, i
  integer :: levels
  logical :: falls

  call parse_options('mgrid', help, bytes, iterations, seed)
  if (bytes > 2_long**50) call fail('--memory-size is too large', 'at most 1048576G')
  call fit(bytes, n1, n3)
  if (n1 == 0) call fail('--memory-size is too small', '16 x 16 x 16 points take 157K')
  call phase('options')
  levels = make_levels(g, n1, n3)
  allocate (u(elements(g, levels)), r(elements(g, levels)), v(points(g(1))))
  charge => level(v, g(1))
  call place_charges(charge)
  u(:points(g(1))) = 0
  call resid(level(u, g(1)), charge, level(r, g(1)), laplace)
  first = norm(level(r, g(1)))
  last = first
  call phase('start')
  print '(a,i0,a,i0,a,i0,a,i0,a,i0,a)', 'grid: ', n1, ' x ', n1, ' x ', n3, ', ', levels, ' levels; ', &
    iterations, ' iterations'
  print '(a,es22.15,a)', 'residual: ', first, ' at first'
  falls = .true.
  do i = 1, iterations
    call v_cycle(g, levels, u, charge, r)
    call resid(level(u, g(1)), charge, level(r, g(1)), laplace)
    left = norm(level(r, g(1)))
    call phase('V-cycle')
    print '(a,es22.15)', 'residual: ', left
    falls = falls .and. (left < last .or. left < 1e-12_dp * first)
    last = left
  end do
  if (falls .and. last < 0.2_dp * first) then
    print '(a)', 'verification: passed'
  else
    print '(a)', 'verification: FAILED'
    stop 1, quiet=.true.
  end if

contains

  ! Half of the charges are +1, half -1: on a periodic grid only a sum of 0 has a potential.
  subroutine place_charges(v)
    real(dp), intent(inout) :: v(0:, 0:, 0:)
    integer(long) :: state, place(3)
    integer :: c, d
    state = seed * 2654435761_long + 88172645463325252_long
    v = 0
    do c = 1, charges
      do d = 1, 3
        place(d) = 1 + int(random_unit(state) * real(size(v, d, long) - 2, dp), long)
      end do
      v(place(1), place(2), place(3)) = v(place(1), place(2), place(3)) + merge(-1.0_dp, 1.0_dp, mod(c, 2) == 1)
    end do
    call wrap(v)
  end subroutine

  ! Uniform in [0, 1); xorshift64.
  real(dp) function random_unit(state)
    integer(long), intent(inout) :: state
    state = ieor(state, ishft(state, 13))
    state = ieor(state, ishft(state, -7))
    state = ieor(state, ishft(state, 17))
    random_unit = real(ishft(state, -11), dp) / 9007199254740992.0_dp
  end function

end program
