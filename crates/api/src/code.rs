//! Every error code: its permanent name, its status, its title and its page.

use http::StatusCode;

/// Writes the enum and its tables from one list, so that a code without a page does not compile.
macro_rules! codes {
    ($($variant:ident $name:literal $status:ident $title:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code {
            $($variant,)*
        }

        impl Code {
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            /// Name for ever: programs compare it, and `/errors/<name>` explains it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Code::$variant => $name,)*
                }
            }

            pub fn status(self) -> StatusCode {
                match self {
                    $(Code::$variant => StatusCode::$status,)*
                }
            }

            pub fn title(self) -> &'static str {
                match self {
                    $(Code::$variant => $title,)*
                }
            }

            /// What it means, its likely cause and what to do, in Markdown.
            pub fn page(self) -> &'static str {
                match self {
                    $(Code::$variant => include_str!(concat!("../../../docs/errors/", $name, ".md")),)*
                }
            }
        }
    };
}

codes! {
    MalformedJson "malformed-json" BAD_REQUEST "The body is not JSON";
    InvalidBody "invalid-body" BAD_REQUEST "The body does not have the expected shape";
    InvalidParameter "invalid-parameter" BAD_REQUEST "A parameter has a value that is not allowed";
    UnknownParameter "unknown-parameter" BAD_REQUEST "There is no such parameter";
    NeverExpires "never-expires" BAD_REQUEST "The time of the plan is not limited";
    Unauthenticated "unauthenticated" UNAUTHORIZED "A valid token is needed";
    Forbidden "forbidden" FORBIDDEN "You may not do this";
    WrongPassword "wrong-password" FORBIDDEN "The password is wrong";
    NotFound "not-found" NOT_FOUND "There is nothing at this path";
    OperationNotFound "operation-not-found" NOT_FOUND "There is no such operation";
    WorkflowNotFound "workflow-not-found" NOT_FOUND "There is no such workflow";
    RuntimeNotFound "runtime-not-found" NOT_FOUND "There is no such runtime";
    OrchestrationNotFound "orchestration-not-found" NOT_FOUND "There is no such orchestration";
    KubeconfigNotFound "kubeconfig-not-found" NOT_FOUND "The runtime has no kubeconfig";
    TokenNotFound "token-not-found" NOT_FOUND "There is no such token";
    UserNotFound "user-not-found" NOT_FOUND "There is no such user";
    SessionNotFound "session-not-found" NOT_FOUND "There is no such session";
    MethodNotAllowed "method-not-allowed" METHOD_NOT_ALLOWED "The path does not take this method";
    SlowBody "slow-body" REQUEST_TIMEOUT "The body did not arrive in time";
    NotNow "not-now" CONFLICT "The operation cannot be asked for this in its phase";
    ResourceBusy "resource-busy" CONFLICT "Another operation is working on the resource";
    ResourceChanged "resource-changed" CONFLICT "The resource has changed in the meantime";
    TooManySignals "too-many-signals" CONFLICT "Too many signals of the operation are unread";
    DeclarationConflict "declaration-conflict" CONFLICT "The workflow is declared elsewhere";
    NothingToRepair "nothing-to-repair" CONFLICT "Nothing can be started again";
    TokenExists "token-exists" CONFLICT "The name of the token is taken";
    LastAdmin "last-admin" CONFLICT "The last admin token cannot be deleted";
    UserExists "user-exists" CONFLICT "The name of the user is taken";
    LastAdminUser "last-admin-user" CONFLICT "The last admin among the users must stay";
    NotYourself "not-yourself" CONFLICT "You cannot delete your own user";
    NoPassword "no-password" CONFLICT "You have no password here";
    BodyTooLarge "body-too-large" PAYLOAD_TOO_LARGE "The body is too large";
    UnsupportedMediaType "unsupported-media-type" UNSUPPORTED_MEDIA_TYPE "The body must be JSON";
    UnknownWorkflow "unknown-workflow" UNPROCESSABLE_ENTITY "This release has no such workflow";
    InvalidCommand "invalid-command" UNPROCESSABLE_ENTITY "The command is not acceptable";
    InvalidDeclaration "invalid-declaration" UNPROCESSABLE_ENTITY "The declaration of a workflow is wrong";
    IdempotencyKeyReused "idempotency-key-reused" UNPROCESSABLE_ENTITY
        "The idempotency key was used for another request";
    WeakPassword "weak-password" UNPROCESSABLE_ENTITY "The password is not good enough";
    SignInLocked "sign-in-locked" TOO_MANY_REQUESTS "There were too many wrong passwords";
    Internal "internal" INTERNAL_SERVER_ERROR "Something broke on our side";
    DatabaseUnavailable "database-unavailable" SERVICE_UNAVAILABLE "The database is not answering";
    DatabaseFull "database-full" SERVICE_UNAVAILABLE "The database has no room left";
    NotReady "not-ready" SERVICE_UNAVAILABLE "This node is not ready to work";
    TooManyStreams "too-many-streams" SERVICE_UNAVAILABLE "Too many event streams are open";
    Timeout "timeout" GATEWAY_TIMEOUT "The request took too long";
    Conflict "conflict" CONFLICT "The request does not fit the present state";
    InvalidRequest "invalid_request" BAD_REQUEST "Something in the request is wrong";
    Unavailable "unavailable" SERVICE_UNAVAILABLE "Something that is needed does not answer";
    FarSideRefused "far_side_refused" BAD_GATEWAY "Another system refused the request";
    CloudPermission "cloud_permission" FORBIDDEN "The cloud account does not permit this";
    CloudNotFound "cloud_not_found" NOT_FOUND "The cloud does not have this";
    CloudRefused "cloud_refused" BAD_REQUEST "The cloud does not accept the request";
    CloudQuota "cloud_quota" FORBIDDEN "The cloud account has reached a limit";
    CloudBusy "cloud_busy" SERVICE_UNAVAILABLE "The cloud cannot do this at the moment";
    NotOffered "not_offered" NOT_IMPLEMENTED "This server does not offer this";
    ImageBuilderQuota "image_builder_quota" FORBIDDEN "The Image Builder has reached a limit";
    ImageBuilderRefused "image_builder_refused" BAD_GATEWAY "The Image Builder refused the request";
    NoImageBuilder "no_image_builder" NOT_IMPLEMENTED "The server has no Image Builder";
    ProviderNotConfigured "provider_not_configured" NOT_IMPLEMENTED "The server is not connected to this cloud";
    TooFast "too_fast" TOO_MANY_REQUESTS "Launches come in too fast";
    TooManyLaunches "too_many_launches" TOO_MANY_REQUESTS "Too many launches are under way";
    DuplicatePublicKey "duplicate_pubkey" UNPROCESSABLE_ENTITY "The public key already exists";
    DuplicatePublicKeyName "duplicate_pubkey_name" UNPROCESSABLE_ENTITY "Another public key has this name";
    LaunchUnderWay "launch_under_way" CONFLICT "The launch of the instance is not over";
    NoServiceIdentity "no_service_identity" FORBIDDEN "No Image Builder identity is configured for the organisation";
    NoKeyRing "no_key_ring" SERVICE_UNAVAILABLE "The server cannot keep secrets";
    SourcesElsewhere "sources_elsewhere" NOT_IMPLEMENTED "Sources are kept by another service";
    SourceLocked "source_locked" INTERNAL_SERVER_ERROR "The access of the source cannot be opened";
    ParametersGiven "parameters_given" CONFLICT "The launch has its parameters already";
    LaunchOver "launch_over" CONFLICT "The launch is over";
    FeatureOff "feature_off" UNAUTHORIZED "The feature is off";
    BadSignature "bad_signature" UNAUTHORIZED "The signature is missing or wrong";
    HasInstances "has_instances" CONFLICT "The launch has instances already";
}

impl Code {
    /// Hyphens and underscores are the same: two of the APIs spell one code differently.
    pub fn named(name: &str) -> Option<Code> {
        let name = name.replace('_', "-");
        Code::ALL.iter().copied().find(|code| code.as_str().replace('_', "-") == name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_page_has_a_code_and_the_three_parts() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
        let pages: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
            .collect();
        let codes: BTreeSet<String> = Code::ALL.iter().map(|code| code.as_str().to_owned()).collect();
        assert_eq!(pages, codes, "docs/errors has exactly one page for each code");
        for code in Code::ALL {
            for part in ["## What it means", "## Likely cause", "## What to do"] {
                assert!(code.page().contains(part), "docs/errors/{}.md lacks {part:?}", code.as_str());
            }
            let first = format!("# {}\n", code.title());
            assert!(code.page().starts_with(&first), "docs/errors/{}.md: {first}", code.as_str());
            let status = format!("Status {}", code.status().as_u16());
            assert!(code.page().contains(&status), "docs/errors/{}.md: {status}", code.as_str());
        }
    }

    #[test]
    fn names_are_found_again_and_none_is_used_twice() {
        for code in Code::ALL {
            assert_eq!(Code::named(code.as_str()), Some(*code));
        }
        assert_eq!(Code::named("not_found"), Some(Code::NotFound));
        assert_eq!(Code::named("teapot"), None);
    }
}
