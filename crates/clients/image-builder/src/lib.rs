//! Image Builder: builds images of operating systems and uploads them to clouds.
//!
//! It knows no tokens of ours: two equal calls of `submit` make two builds. A step writes its mark into the
//! description of the image and looks for it in the list before it asks again.

mod error;
mod http;
mod types;
mod wire;

pub use self::error::BuilderError;
pub use self::http::ImageBuilder;
pub use self::types::{
    BuildStatus, Compose, Distribution, DistributionArchitecture, ListedImages, Upload, UploadStatus,
};
use http_client::ExternalSystem;

const SYSTEM: ExternalSystem = ExternalSystem("image builder");
