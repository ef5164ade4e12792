//! `tidegate reset`: clear latched NOT_SERVING.

use super::args::Reach;
use super::asking;
use crate::child::Inherited;
use crate::drain::order::Order;

/// Does it and returns the code to exit with.
pub(super) fn run(reach: &Reach, inherited: &Inherited) -> u8 {
    asking::give(Order::Reset, reach, inherited)
}
