! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! HF: the program of hf.c in Fortran, with the same data set and the same results. See there for what it does.

include '../command.f90'
include 'shared.f90'

module hartree_fock
  use, intrinsic :: iso_c_binding
  use command, only: phase, fail
  use shared
  implicit none

  integer, parameter :: dp = kind(1.0d0), long = c_int64_t
  integer(long), parameter :: least = 8, tables_at = 65536, rows_at = 4096, piece = 1048576
  integer, parameter :: checked_rows = 5, purifications = 100
  real(dp), parameter :: exponent_of = 0.5_dp, bond = 1.4_dp, lattice = 4.0_dp, resonance = 0.6_dp
  real(dp), parameter :: remaining = 0.1_dp ! of the overlap of two functions, when they are made orthogonal
  real(dp), parameter :: mixed = 0.8_dp     ! of the new density in the next one
  real(dp), parameter :: pi = 3.14159265358979323846_dp

  type :: layout
    integer(long) :: atoms, pairs
    integer(long) :: core, integrals, last ! where they begin, bytes
    integer(long) :: row                   ! of integrals, with what fills it up, bytes
  end type

contains

  pure function aligned(bytes, to) result(up)
    integer(long), intent(in) :: bytes, to
    integer(long) :: up
    up = (bytes + to - 1) / to * to
  end function

  pure function lay_out(atoms) result(l)
    integer(long), intent(in) :: atoms
    type(layout) :: l
    l%atoms = atoms
    l%pairs = atoms * (atoms + 1) / 2
    l%core = aligned(l%pairs * 32, tables_at)
    l%integrals = l%core + aligned(l%pairs * 8, tables_at)
    l%row = aligned(l%pairs * 8, rows_at)
    l%last = l%integrals + l%pairs * l%row
  end function

  !> Of atoms in any order, counted from 0.
  pure function pair_of(i, j) result(r)
    integer(long), intent(in) :: i, j
    integer(long) :: r
    r = max(i, j) * (max(i, j) + 1) / 2 + min(i, j)
  end function

  pure subroutine atoms_of(pair, i, j)
    integer(long), intent(in) :: pair
    integer(long), intent(out) :: i, j
    i = 0
    do while ((i + 1) * (i + 2) / 2 <= pair)
      i = i + 1
    end do
    j = pair - i * (i + 1) / 2
  end subroutine

  !> Where an atom is: molecules of two in a cube of cells.
  pure function place(i, n) result(at)
    integer(long), intent(in) :: i, n
    real(dp) :: at(3)
    integer(long) :: side
    side = 1
    do while (side**3 * 2 < n)
      side = side + 1
    end do
    at(1) = lattice * real(mod(i / 2, side), dp) + bond * real(mod(i, 2_long), dp)
    at(2) = lattice * real(mod(i / 2 / side, side), dp)
    at(3) = lattice * real(i / 2 / side / side, dp)
  end function

  !> Middle and overlap.
  pure function make_pair(i, j, n) result(p)
    integer(long), intent(in) :: i, j, n
    real(dp) :: p(4), a(3), b(3), d(3)
    a = place(i, n)
    b = place(j, n)
    d = a - b
    p(1:3) = (a + b) / 2
    p(4) = remaining * exp(-exponent_of / 2 * (d(1) * d(1) + d(2) * d(2) + d(3) * d(3)))
    if (i == j) p(4) = 1
  end function

  !> The potential of two round charges that far apart.
  pure function potential(exponent, distance) result(v)
    real(dp), intent(in) :: exponent, distance
    real(dp) :: v
    if (distance > 1e-9_dp) then
      v = erf(sqrt(exponent) * distance) / distance
    else
      v = 2 * sqrt(exponent / pi)
    end if
  end function

  pure function repulsion(a, b) result(v)
    real(dp), intent(in) :: a(4), b(4)
    real(dp) :: v, d(3)
    d = a(1:3) - b(1:3)
    v = a(4) * b(4) * potential(exponent_of, sqrt(d(1) * d(1) + d(2) * d(2) + d(3) * d(3)))
  end function

  !> Repulsion less half of the exchange, of the pair (i, j) and all others.
  subroutine integrals_of_row(pairs, count, atoms, i, j, row)
    integer(long), intent(in) :: count, atoms, i, j
    real(dp), intent(in) :: pairs(4, 0:count - 1)
    real(dp), intent(out) :: row(0:count - 1)
    integer(long) :: k, l, s
    s = 0
    do k = 0, atoms - 1
      do l = 0, k
        row(s) = repulsion(pairs(:, pair_of(i, j)), pairs(:, pair_of(k, l))) - &
          0.25_dp * (repulsion(pairs(:, pair_of(i, k)), pairs(:, pair_of(j, l))) + &
                     repulsion(pairs(:, pair_of(i, l)), pairs(:, pair_of(j, k))))
        s = s + 1
      end do
    end do
  end subroutine

  pure function core_of(p, i, j, atoms) result(v)
    real(dp), intent(in) :: p(4)
    integer(long), intent(in) :: i, j, atoms
    real(dp) :: v, d(3)
    integer(long) :: a
    v = 0
    if (i /= j) v = -resonance / remaining
    do a = 0, atoms - 1
      d = p(1:3) - place(a, atoms)
      v = v - potential(2 * exponent_of, sqrt(d(1) * d(1) + d(2) * d(2) + d(3) * d(3)))
    end do
    v = p(4) * v
  end function

  subroutine fill_tables(l, pairs, core)
    type(layout), intent(in) :: l
    real(dp), intent(out) :: pairs(4, 0:l%pairs - 1), core(0:l%pairs - 1)
    integer(long) :: i, j
    do i = 0, l%atoms - 1
      do j = 0, i
        pairs(:, pair_of(i, j)) = make_pair(i, j, l%atoms)
        core(pair_of(i, j)) = core_of(pairs(:, pair_of(i, j)), i, j, l%atoms)
      end do
    end do
  end subroutine

  !> `count` values at `offset`: in the mapping, or read into `buffer`.
  function values_at(d, offset, count, buffer) result(values)
    type(data_set), intent(in) :: d
    integer(long), intent(in) :: offset, count
    real(dp), intent(inout), target :: buffer(:)
    real(dp), pointer :: values(:), all(:)
    if (is_mapped(d)) then
      call c_f_pointer(d%map, all, [d%bytes / 8])
      values => all(offset / 8 + 1:offset / 8 + count)
    else
      call read_piece(d, offset, buffer, count)
      values => buffer(1:count)
    end if
  end function

  !> Stores values at `offset`, in the mapping or by a write.
  subroutine put_values(d, offset, values, count)
    type(data_set), intent(in) :: d
    integer(long), intent(in) :: offset, count
    real(dp), intent(in) :: values(count)
    real(dp), pointer :: all(:)
    if (is_mapped(d)) then
      call c_f_pointer(d%map, all, [d%bytes / 8])
      all(offset / 8 + 1:offset / 8 + count) = values
    else
      call write_piece(d, offset, values, count)
    end if
  end subroutine

  !> The data set: the first rank makes the tables, and each one its rows of integrals.
  subroutine make_data(d, j, l)
    type(data_set), intent(in) :: d
    type(job), intent(in) :: j
    type(layout), intent(in) :: l
    real(dp), allocatable :: pairs(:), core(:), row(:)
    real(dp), pointer :: table(:)
    integer(long) :: from, to, r, a, b
    allocate (pairs(4 * l%pairs), core(l%pairs), row(l%pairs))
    from = part(j, l%pairs, j%rank)
    to = part(j, l%pairs, j%rank + 1)
    if (j%rank == 0) then
      call fill_tables(l, pairs, core)
      call put_values(d, 0_long, pairs, 4 * l%pairs)
      call put_values(d, l%core, core, l%pairs)
      call flush(d, 0_long, l%integrals)
    end if
    call meet()
    call refresh(d, 0_long, l%integrals)
    table => values_at(d, 0_long, 4 * l%pairs, pairs)
    do r = from, to - 1
      call atoms_of(r, a, b)
      call integrals_of_row(table, l%pairs, l%atoms, a, b, row)
      call put_values(d, l%integrals + r * l%row, row, l%pairs)
    end do
    call flush(d, l%integrals + from * l%row, (to - from) * l%row)
  end subroutine

  !> Rows of the Fock matrix, without the core's part: `weights` is the density, counted twice off the diagonal.
  subroutine fock_rows(integrals, apart, rows, pairs, weights, fock)
    integer(long), intent(in) :: apart, rows, pairs
    real(dp), intent(in) :: integrals(apart, rows), weights(pairs)
    real(dp), intent(out) :: fock(rows)
    real(dp) :: total
    integer(long) :: r, s
    do r = 1, rows
      total = 0
      do s = 1, pairs
        total = total + integrals(s, r) * weights(s)
      end do
      fock(r) = total
    end do
  end subroutine

  subroutine build_fock(d, j, l, weights, fock, buffer)
    type(data_set), intent(in) :: d
    type(job), intent(in) :: j
    type(layout), intent(in) :: l
    real(dp), intent(in) :: weights(l%pairs)
    real(dp), intent(out) :: fock(l%pairs)
    real(dp), intent(inout) :: buffer(:)
    real(dp), pointer :: integrals(:)
    integer(long) :: from, to, r, rows, most
    from = part(j, l%pairs, j%rank)
    to = part(j, l%pairs, j%rank + 1)
    most = max(1_long, piece / l%row)
    if (is_mapped(d)) most = to - from
    fock = 0
    r = from
    do while (r < to)
      rows = min(most, to - r)
      integrals => values_at(d, l%integrals + r * l%row, rows * l%row / 8, buffer)
      call fock_rows(integrals, l%row / 8, rows, l%pairs, weights, fock(r + 1))
      r = r + rows
    end do
    call share_values(fock, l%pairs)
  end subroutine

  !> Adds the core's part to the Fock matrix, and returns the energy of the density.
  subroutine add_core(core, pairs, weights, fock, energy)
    integer(long), intent(in) :: pairs
    real(dp), intent(in) :: core(pairs), weights(pairs)
    real(dp), intent(inout) :: fock(pairs)
    real(dp), intent(out) :: energy
    integer(long) :: r
    energy = 0
    do r = 1, pairs
      energy = energy + weights(r) * (core(r) + 0.5_dp * fock(r))
      fock(r) = fock(r) + core(r)
    end do
  end subroutine

  !> The matrices are symmetric, so that it does not matter that Fortran has columns together and C rows.
  subroutine square(n, x, xx)
    integer(long), intent(in) :: n
    real(dp), intent(in) :: x(n, n)
    real(dp), intent(out) :: xx(n, n)
    integer(long) :: i, j, k
    xx = 0
    do i = 1, n
      do k = 1, n
        do j = 1, n
          xx(j, i) = xx(j, i) + x(k, i) * x(j, k)
        end do
      end do
    end do
  end subroutine

  pure function trace(n, x) result(total)
    integer(long), intent(in) :: n
    real(dp), intent(in) :: x(n, n)
    real(dp) :: total
    integer(long) :: i
    total = 0
    do i = 1, n
      total = total + x(i, i)
    end do
  end function

  !> The projector on the n / 2 lowest states, by purification: see hf.c.
  subroutine purify(n, fock, x, xx, off)
    integer(long), intent(in) :: n
    real(dp), intent(in) :: fock(0:n * (n + 1) / 2 - 1)
    real(dp), intent(out) :: x(0:n - 1, 0:n - 1), xx(0:n - 1, 0:n - 1), off
    real(dp) :: low, high, radius, t, tt, wanted
    integer(long) :: i, j, step
    low = 1e300_dp
    high = -1e300_dp
    do i = 0, n - 1
      radius = 0
      do j = 0, n - 1
        if (j /= i) radius = radius + abs(fock(pair_of(i, j)))
      end do
      low = min(low, fock(pair_of(i, i)) - radius)
      high = max(high, fock(pair_of(i, i)) + radius)
    end do
    do i = 0, n - 1
      do j = 0, n - 1
        x(j, i) = (merge(high, 0.0_dp, i == j) - fock(pair_of(i, j))) / (high - low)
      end do
    end do
    wanted = real(n, dp) / 2
    do step = 1, purifications
      call square(n, x, xx)
      t = trace(n, x)
      tt = trace(n, xx)
      off = abs(t - tt)
      if (abs(tt - wanted) < abs(2 * t - tt - wanted)) then
        x = xx
      else
        x = 2 * x - xx
      end if
      if (off <= 1e-11_dp) exit
    end do
  end subroutine

  !> The next density: two electrons in each of the lowest states, and a part of the density before.
  subroutine mix(n, x, weights)
    integer(long), intent(in) :: n
    real(dp), intent(in) :: x(0:n - 1, 0:n - 1)
    real(dp), intent(inout) :: weights(0:n * (n + 1) / 2 - 1)
    integer(long) :: i, j, r
    do i = 0, n - 1
      do j = 0, i
        r = pair_of(i, j)
        weights(r) = (1 - mixed) * weights(r) + mixed * merge(2, 4, i == j) * x(j, i)
      end do
    end do
  end subroutine

  !> Whether some rows of `fock` are those of integrals that are computed again.
  function rows_are_right(l, weights, fock) result(right)
    type(layout), intent(in) :: l
    real(dp), intent(in) :: weights(0:l%pairs - 1), fock(0:l%pairs - 1)
    real(dp), allocatable :: pairs(:), core(:), row(:)
    real(dp) :: total
    integer(long) :: checked, r, i, j
    logical :: right
    allocate (pairs(4 * l%pairs), core(l%pairs), row(0:l%pairs - 1))
    call fill_tables(l, pairs, core)
    right = .true.
    do checked = 0, checked_rows - 1
      r = (l%pairs - 1) * checked / (checked_rows - 1)
      call atoms_of(r, i, j)
      call integrals_of_row(pairs, l%pairs, l%atoms, i, j, row)
      total = dot_product(row, weights)
      right = right .and. abs(total - fock(r)) <= 1e-9_dp * abs(total)
    end do
  end function

  subroutine iterate(d, j, l)
    type(data_set), intent(in) :: d
    type(job), intent(in) :: j
    type(layout), intent(in) :: l
    real(dp), allocatable :: weights(:), fock(:), core_buffer(:), buffer(:), x(:, :), xx(:, :)
    real(dp), pointer :: core(:)
    real(dp) :: energy, before, change, first, off, worst
    integer(long) :: i
    logical :: right
    allocate (weights(l%pairs), fock(l%pairs), core_buffer(l%pairs), buffer(max(l%row, piece) / 8), x(l%atoms, l%atoms))
    allocate (xx(l%atoms, l%atoms))
    weights = 0
    do i = 0, l%atoms - 1
      weights(pair_of(i, i) + 1) = 1
    end do
    before = 0
    first = 0
    worst = 0
    right = .true.
    call begin_measuring()
    do i = 1, j%iterations
      call build_fock(d, j, l, weights, fock, buffer)
      if (i == j%iterations .and. j%rank == 0) right = rows_are_right(l, weights, fock)
      core => values_at(d, l%core, l%pairs, core_buffer)
      call add_core(core, l%pairs, weights, fock, energy)
      call purify(l%atoms, fock, x, xx, off)
      call mix(l%atoms, x, weights)
      worst = max(worst, off)
      change = abs(energy - before)
      if (i == 2) first = change
      before = energy
      print '(a, es19.12e2)', 'energy: ', energy
      call phase('iteration')
    end do
    right = agree(right)
    call end_measuring(fock, right .and. worst <= 1e-6_dp .and. (j%iterations < 4 .or. change < 0.1_dp * first))
  end subroutine
end module

program hf
  use command, only: phase, fail
  use shared
  use hartree_fock
  implicit none
  character(*), parameter :: help(8) = [character(100) :: &
    'usage: mpirun -n RANKS hf --data PATH --size TOTAL [--iterations 6] [--make | --made] [--read] [--times]', &
    'Integrals of hydrogen on a lattice, and iterations to the density of least energy.', &
    '  --data PATH    the file of the data set', &
    '  --size TOTAL   its bytes, about (units K, M, G are binary)', &
    '  --make, --made only make the data set, or only work on it; without either, both', &
    '  --read         by reads and writes of pieces, instead of a mapping', &
    '  --times        seconds of each phase of the first rank, on stderr', &
    '  --iterations N Fock matrices']
  type(job) :: j
  type(layout) :: l
  type(data_set) :: d
  j = start('hf', help, 6_long)
  l = lay_out(least)
  if (l%last > j%bytes) call fail('--size is too small', '8 atoms take 272K')
  if (j%bytes > 2_long**44) call fail('--size is too large', 'at most 16384G')
  do
    if (next_end(l) > j%bytes) exit
    l = lay_out(l%atoms + 2)
  end do
  print '(a, 3(i0, a))', 'hf: ', l%atoms, ' atoms, ', l%pairs, ' pairs, ', j%iterations, ' iterations'
  d = open_data_set(j, l%last, .not. j%is_made)
  if (.not. j%is_made) call make_data(d, j, l)
  call meet()
  call refresh(d, 0_long, l%last)
  call phase('integrals')
  if (j%makes) then
    call end_ranks()
  else
    call iterate(d, j, l)
  end if

contains

  integer(long) function next_end(now)
    type(layout), intent(in) :: now
    type(layout) :: next
    next = lay_out(now%atoms + 2)
    next_end = next%last
  end function
end program
