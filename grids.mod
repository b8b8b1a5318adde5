!mod$ v1 sum:798819d6a5c2514d
!need$ 72d07276529809c8 i iso_fortran_env
module grids
use,intrinsic::iso_fortran_env,only:real64
use,intrinsic::iso_fortran_env,only:int64
integer(4),parameter::max_levels=32_4
integer(4),parameter::step=16_4
integer(4),parameter::charges=20_4
integer(4),parameter::dp=8_4
integer(4),parameter::long=8_4
type::grid
integer(8)::n1
integer(8)::n3
integer(8)::first
end type
contains
pure function points(g)
type(grid),intent(in)::g
integer(8)::points
end
function make_levels(g,n1,n3) result(levels)
type(grid),intent(out)::g(1_8:32_8)
integer(8),intent(in)::n1
integer(8),intent(in)::n3
integer(4)::levels
end
function elements(g,levels)
type(grid),intent(in)::g(:)
integer(4),intent(in)::levels
integer(8)::elements
end
function bytes_of(n1,n3)
integer(8),intent(in)::n1
integer(8),intent(in)::n3
integer(8)::bytes_of
end
subroutine fit(bytes,n1,n3)
integer(8),intent(in)::bytes
integer(8),intent(out)::n1
integer(8),intent(out)::n3
end
function level(array,g) result(view)
real(8),intent(inout),target::array(:)
type(grid),intent(in)::g
real(8),pointer::view(:,:,:)
end
end
