!mod$ v1 sum:23ae4350bcfb3abc
!need$ 798819d6a5c2514d n grids
module options
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
integer(8)::bytes
integer(8)::iterations
integer(8)::seed
logical(4)::times
contains
subroutine fail(what,detail)
character(*,1),intent(in)::what
character(*,1),intent(in)::detail
end
subroutine help(unit)
integer(4),intent(in)::unit
end
function parse_number(text) result(value)
character(*,1),intent(in)::text
integer(8)::value
end
function argument(i) result(text)
integer(4),intent(in)::i
character(:,1),allocatable::text
end
subroutine parse()
end
subroutine phase(name)
character(*,1),intent(in)::name
end
end
