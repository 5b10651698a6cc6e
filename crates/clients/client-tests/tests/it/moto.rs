//! The driver for AWS against the work of others: moto, which plays EC2 and STS, and botocore, which signs.
//!
//! Neither is ours, so both can be wrong in ways that an external system of our own cannot. What moto does not do, such
//! as client tokens, is tested elsewhere.

mod checks;
mod cloud;
mod keys;
mod launches;
mod server;
mod signatures;

use std::io::Write;

use checks::Checks;

#[tokio::test]
async fn moto_and_botocore_agree_with_the_driver() {
    let programs = server::programs();
    let mut checks = Checks::default();
    signatures::agree(&programs, &mut checks).await;
    let moto = server::Moto::start(&programs).await;
    cloud::is_seen(&moto, &mut checks).await;
    keys::come_and_go(&moto, &mut checks).await;
    launches::come_and_go(&moto, &mut checks).await;
    // Past the capture of the harness, so that it is seen when all is well.
    writeln!(std::io::stdout(), "moto: {} checks passed", checks.passed()).unwrap();
}
