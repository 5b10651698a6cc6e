//! What each error says about trying again.

use std::time::Duration;

use engine::Halt;
use image_builder::BuilderError;

#[test]
fn every_kind_says_whether_to_try_again_and_whether_to_look_first() {
    let cause = || "x".to_owned();
    for (error, may_heal, may_have_happened) in [
        (BuilderError::Unknown, false, false),
        (BuilderError::Refused { status: 400, message: cause() }, false, false),
        (BuilderError::Quota { message: cause() }, false, false),
        (BuilderError::Throttled { retry_after: Duration::from_secs(7) }, true, false),
        (BuilderError::Unreachable { cause: cause(), was_asked: false }, true, false),
        (BuilderError::Unreachable { cause: cause(), was_asked: true }, true, true),
        (BuilderError::TimedOut { cause: cause(), was_asked: false }, true, false),
        (BuilderError::TimedOut { cause: cause(), was_asked: true }, true, true),
        (BuilderError::Broken { cause: cause() }, true, true),
    ] {
        assert_eq!(error.may_heal(), may_heal, "{error:?}");
        assert_eq!(error.may_have_happened(), may_have_happened, "{error:?}");
        assert_eq!(matches!(Halt::from(error.clone()), Halt::Retry { .. }), may_heal, "{error:?}");
    }
    let busy = Halt::from(BuilderError::Throttled { retry_after: Duration::from_secs(7) });
    assert!(matches!(busy, Halt::Retry { after: Some(after), .. } if after == Duration::from_secs(7)));
}
