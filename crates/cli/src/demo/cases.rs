//! The cases of the demo, in both directions: an idle device, behind bulk natively, and behind bulk through overtake.

use hal::Result;
use measure::case::Case;
use measure::catalogue::MethodName;
use measure::runner::Load;
use measure::stage::Stage;
use priority::Direction;

use super::names::named;

/// The methods that it compares: CUDA's own answer, to bulk that lets others have a turn and to bulk that does not, and
/// ours.
const METHODS: [MethodName; 4] =
    [MethodName::NativePriority, MethodName::NativeQueue, MethodName::KernelHold, MethodName::Express];
/// The method that replaces ours where there is no copy kernel.
const WITHOUT_KERNEL: MethodName = MethodName::EngineHold;

/// All cases of all directions, in the order of the table.
pub fn cases(stage: &Stage, bytes: (u64, u64)) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for direction in [Direction::HostToDevice, Direction::DeviceToHost] {
        let sizes = Stage::sizes(direction, bytes.0, bytes.1);
        cases.push(sizes.idle(&stage.shop)?);
        cases.push(sizes.raw(&stage.shop)?);
        for method in METHODS.into_iter().chain([WITHOUT_KERNEL]) {
            cases.push(sizes.method(&stage.shop, method, Load::Both, &stage.shop.options, None)?);
        }
    }
    Ok(cases.into_iter().map(named).collect())
}
