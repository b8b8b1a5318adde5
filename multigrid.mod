!mod$ v1 sum:04ddcba61df4a443
!need$ 798819d6a5c2514d n grids
module multigrid
use grids,only:real64
use grids,only:int64
use grids,only:max_levels
use grids,only:step
use grids,only:charges
use grids,only:dp
use grids,only:long
use grids,only:grid
use grids,only:points
use grids,only:make_levels
use grids,only:elements
use grids,only:bytes_of
use grids,only:fit
use grids,only:level
real(8),parameter::laplace(0_8:3_8)=[REAL(8)::-2.666666666666666518636930049979127943515777587890625_8,0._8,1.666666666666666574148081281236954964697360992431640625e-1_8,8.333333333333332870740406406184774823486804962158203125e-2_8]
real(8),parameter::smoother(0_8:3_8)=[REAL(8)::-3.75e-1_8,3.125e-2_8,-1.5625e-2_8,0._8]
real(8),parameter::averages(0_8:3_8)=[REAL(8)::5.e-1_8,2.5e-1_8,1.25e-1_8,6.25e-2_8]
contains
subroutine wrap(u)
real(8),intent(inout)::u(0_8:,0_8:,0_8:)
end
subroutine line_sums(u,j,k,near,far)
real(8),intent(in)::u(0_8:,0_8:,0_8:)
integer(8),intent(in)::j
integer(8),intent(in)::k
real(8),intent(out)::near(0_8:)
real(8),intent(out)::far(0_8:)
end
subroutine resid(u,v,r,a)
real(8),intent(in)::u(0_8:,0_8:,0_8:)
real(8),intent(in)::v(0_8:,0_8:,0_8:)
real(8),intent(inout)::r(0_8:,0_8:,0_8:)
real(8),intent(in)::a(0_8:3_8)
end
subroutine resid_in_place(u,r,a)
real(8),intent(in)::u(0_8:,0_8:,0_8:)
real(8),intent(inout)::r(0_8:,0_8:,0_8:)
real(8),intent(in)::a(0_8:3_8)
end
subroutine psinv(r,u,c)
real(8),intent(in)::r(0_8:,0_8:,0_8:)
real(8),intent(inout)::u(0_8:,0_8:,0_8:)
real(8),intent(in)::c(0_8:3_8)
end
subroutine rprj3(r,s,w)
real(8),intent(in)::r(0_8:,0_8:,0_8:)
real(8),intent(inout)::s(0_8:,0_8:,0_8:)
real(8),intent(in)::w(0_8:3_8)
end
subroutine interp(z,u)
real(8),intent(in)::z(0_8:,0_8:,0_8:)
real(8),intent(inout)::u(0_8:,0_8:,0_8:)
end
function norm(r)
real(8),intent(in)::r(0_8:,0_8:,0_8:)
real(8)::norm
end
subroutine v_cycle(g,levels,u,v,r)
type(grid),intent(in)::g(:)
integer(4),intent(in)::levels
real(8),intent(inout),target::u(:)
real(8),intent(in)::v(0_8:,0_8:,0_8:)
real(8),intent(inout),target::r(:)
end
end
