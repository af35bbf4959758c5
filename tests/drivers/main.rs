//! Drivers and devices on the software GPU: for each release of the driver and each device, what works, by which way,
//! and what is said. `docs/drivers.md` has the results, and this test holds them.
#![allow(unsafe_code)] // copies

mod machine;
mod page;
mod said;

use hal::{Code, Device, Driver};
use overtake::options::Profile;
use softgpu::Parameters;

use machine::{Machine, Outcome};

/// The devices of the page. The other preset of an H100 differs in its links to other devices alone.
fn devices() -> impl Iterator<Item = &'static str> {
    Parameters::presets().filter(|name| *name != "h100-pcie5")
}

/// Every release with every device that it knows.
fn machines() -> impl Iterator<Item = (u32, &'static str, Machine)> {
    let all = Parameters::releases().flat_map(|release| devices().map(move |device| (release, device)));
    all.filter_map(|(release, device)| {
        let parameters = Parameters::named(&format!("{device}@{release}")).ok()?;
        Some((release, device, Machine::new(parameters)))
    })
}

#[test]
fn the_way_of_a_copy_follows_from_the_driver() {
    for (release, device, machine) in machines() {
        let ways = [Profile::LIBRARY, Profile::DROP_IN].map(|profile| machine.beside_bulk(profile, None).ways());
        let wanted = match release >= 530 {
            true => [["kernel", "urgent"]; 2],
            false => [["engine", "urgent"], ["native", "urgent"]],
        };
        assert_eq!(ways, wanted, "{device}@{release}");
    }
}

#[test]
fn a_driver_that_refuses_the_kernel_is_named_with_what_it_needs_and_what_works() {
    for (release, device, machine) in machines() {
        for (profile, works) in [(Profile::LIBRARY, "in chunks"), (Profile::DROP_IN, "staged as usual")] {
            let (_, said) = said::by(|| machine.beside_bulk(profile, None));
            let said = said.join("\n");
            let named = ["CUDA 12.1", "driver 530", "CUDA 12.0", works];
            let is_said = named.iter().all(|words| said.contains(words));
            assert_eq!(is_said, release < 530, "{device}@{release}: {said:?}");
        }
    }
}

/// The same behind CUDA's own ABI, as a program finds it.
#[test]
fn an_older_library_lacks_what_came_later() {
    let Some(library) = testkit::fixture::loader::library() else {
        assert!(!testkit::fixture::loader::is_required(), "there is no libcuda.so beside this executable");
        return;
    };
    let library = library.display().to_string();
    let variables = [(driver::LIBRARY_VARIABLE, library.as_str()), (softgpu::PRESET, "l4@525")];
    if !testkit::alone::is_alone_with("an_older_library_lacks_what_came_later", &variables) {
        return;
    }
    let driver = driver::CudaDriver::get().unwrap();
    let has_batches = driver.functions().pointers().cuMemcpyBatchAsync.is_some();
    let context = driver.primary_context_retain(Device(0)).unwrap();
    driver.context_set_current(Some(context)).unwrap();
    assert_eq!((driver.version(), has_batches), (Ok(12_000), false));
    let refused = driver.module_load(b".version 8.1\n.target sm_75\n").unwrap_err().code();
    assert_eq!(refused, Code::UNSUPPORTED_PTX_VERSION);
    let symbol = driver.functions().library().symbol(c"cuMemcpyBatchAsync").expect("it is exported all the same");
    // SAFETY: the list gives the function no fewer arguments, and one that is refused reads none of them.
    let batch = unsafe { std::mem::transmute::<*mut std::ffi::c_void, extern "C" fn() -> u32>(symbol.as_ptr()) };
    assert_eq!(batch(), Code::NOT_FOUND.get());
}

#[test]
fn kernels_of_tasks_need_a_driver_that_tells_their_parameters() {
    for (release, device, machine) in machines() {
        let found = machine.kernel_of_a_task();
        let refused = found.map_or_else(|error| error.code() == Code::NOT_FOUND, |()| false);
        assert_eq!(refused, release < 550, "{device}@{release}");
    }
}

/// The link is slower than that of the measurements: with their constants an urgent copy waits for more than with those
/// that follow from it.
#[test]
fn the_constants_of_a_device_follow_from_its_link() {
    for device in ["a100", "l4", "rtx4090"] {
        for release in [525, 580] {
            let machine = Machine::new(Parameters::named(&format!("{device}@{release}")).unwrap());
            let [own, measured] = [None, Some(55)].map(|gbps| machine.beside_bulk(Profile::LIBRARY, gbps));
            let Outcome { urgent_us, bulk_gbps, rescues, .. } = own;
            assert_eq!(rescues, 0, "{device}@{release}: {own:?}");
            assert!(urgent_us < 0.8 * measured.urgent_us, "{device}@{release}: {own:?} {measured:?}");
            assert!(bulk_gbps > 0.9 * measured.bulk_gbps, "{device}@{release}: {own:?} {measured:?}");
        }
    }
}

#[test]
fn the_page_has_these_results() {
    let (drivers, devices) = (page::drivers(), page::devices());
    let text = include_str!("../../docs/drivers.md");
    assert!(text.contains(&drivers), "docs/drivers.md lacks this table of drivers:\n{drivers}");
    assert!(text.contains(&devices), "docs/drivers.md lacks this table of devices:\n{devices}");
}
