//! Launches by their id, by its beginning or end, or by their number.

use anyhow::{Result, bail};
use uuid::Uuid;

use crate::client::{LaunchClient, LaunchDetails, OrgArgs};
use app::cli::Global;
use app::cmd::complete::Candidate;

/// How many of the newest launches are searched.
const SEARCHED: usize = 200;
/// More digits are the end of an id and no number.
const NUMBER_DIGITS_MAX: usize = 7;
const PART_CHARS_MIN: usize = 4;

/// What the API calls a launch.
pub(super) async fn named(client: &LaunchClient, given: &str) -> Result<String> {
    let is_number = given.len() <= NUMBER_DIGITS_MAX && given.chars().all(|c| c.is_ascii_digit());
    let is_part = given.len() >= PART_CHARS_MIN && given.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    if is_number || !is_part || given.parse::<Uuid>().is_ok() {
        return Ok(given.to_owned());
    }
    let part = given.replace('-', "").to_lowercase();
    let launches = newest(client, SEARCHED).await?;
    let fits = |launch: &&LaunchDetails| {
        let id = launch.id.simple().to_string();
        id.starts_with(&part) || id.ends_with(&part)
    };
    match launches.iter().filter(fits).collect::<Vec<_>>().as_slice() {
        [] => bail!("none of the newest {SEARCHED} launches has an id that begins or ends with {given}"),
        [only] => Ok(only.id.to_string()),
        several => {
            let line = |launch: &&LaunchDetails| format!("\n  {}  {}", launch.id, launch.state);
            let listed: String = several.iter().map(line).collect();
            bail!("several launches match {given}:{listed}")
        }
    }
}

async fn newest(client: &LaunchClient, count: usize) -> Result<Vec<LaunchDetails>> {
    Ok(client.launches(&[("limit", count.to_string())]).await?.data)
}

/// The newest launches, for shells.
pub(crate) async fn complete(global: &Global) -> Result<Vec<Candidate>> {
    let client = LaunchClient::find(global, &OrgArgs::default())?;
    let launches = newest(&client, 50).await?;
    let about = |launch: &LaunchDetails| launch.parameter("name").unwrap_or_else(|| launch.state.clone());
    Ok(launches.iter().map(|launch| (launch.id.to_string(), about(launch))).collect())
}
