//! The API of the platform: operations, tokens and users.

use api::client::{Client, Events};
use api::types::{
    AppliedWorkflow, ChangeUser, Control, CreatedUser, DryRun, DryRunCalls, Explanation, IssuedToken,
    JournalPage, JournalQuery, ListQuery, NewToken, NewUser, Operation, OperationDetail, OperationPage,
    Signalled, SignedOut, Submit, TokenList, User, UserList, Verb, Workflow, WorkflowContent, WorkflowList,
    WorkflowVersionList,
};
use reqwest::Method;
use serde_json::Value;
use uuid::Uuid;

use super::{Address, CallResult, PLATFORM};
use crate::cli::Global;

#[derive(Debug, Clone)]
pub struct PlatformClient {
    pub http: Client,
}

impl PlatformClient {
    pub fn find(global: &Global) -> anyhow::Result<PlatformClient> {
        let address = Address::find(global)?;
        Ok(PlatformClient { http: address.client(&PLATFORM, address.token())? })
    }

    pub async fn submit(&self, submit: &Submit, key: &str) -> CallResult<Operation> {
        let request = self.http.request(Method::POST, &["operations"])?;
        request.header("Idempotency-Key", key).json(submit).read().await
    }

    pub async fn list(&self, query: &ListQuery) -> CallResult<OperationPage> {
        self.http.request(Method::GET, &["operations"])?.query(query).read().await
    }

    pub async fn show(&self, id: Uuid) -> CallResult<OperationDetail> {
        self.http.get(&["operations", &id.to_string()]).await
    }

    pub async fn journal(&self, id: Uuid, query: &JournalQuery) -> CallResult<JournalPage> {
        let request = self.http.request(Method::GET, &["operations", &id.to_string(), "journal"])?;
        request.query(query).read().await
    }

    pub async fn explain(&self, id: Uuid) -> CallResult<Explanation> {
        self.http.get(&["operations", &id.to_string(), "explain"]).await
    }

    pub async fn ask(&self, id: Uuid, verb: Verb, control: &Control) -> CallResult<Operation> {
        self.http.post(&["operations", &id.to_string(), word(verb)], control).await
    }

    pub async fn signal(&self, key: &str, payload: &Value) -> CallResult<Signalled> {
        self.http.post(&["signals", key], payload).await
    }

    pub async fn signal_operation(&self, id: Uuid, key: &str, payload: &Value) -> CallResult<Signalled> {
        self.http.post(&["operations", &id.to_string(), "signals", key], payload).await
    }

    pub async fn workflows(&self) -> CallResult<WorkflowList> {
        self.http.get(&["workflows"]).await
    }

    pub async fn workflow(&self, name: &str) -> CallResult<Workflow> {
        self.http.get(&["workflows", name]).await
    }

    pub async fn workflow_versions(&self, name: &str) -> CallResult<WorkflowVersionList> {
        self.http.get(&["workflows", name, "versions"]).await
    }

    pub async fn workflow_version(&self, name: &str, version: u32) -> CallResult<WorkflowContent> {
        self.http.get(&["workflows", name, "versions", &version.to_string()]).await
    }

    pub async fn apply_workflow(&self, name: &str, declaration: &Value) -> CallResult<AppliedWorkflow> {
        self.http.request(Method::PUT, &["workflows", name])?.json(declaration).read().await
    }

    pub async fn delete_workflow(&self, name: &str) -> CallResult<()> {
        self.http.request(Method::DELETE, &["workflows", name])?.send().await.map(drop)
    }

    pub async fn dry_run(&self, name: &str, asked: &DryRun) -> CallResult<DryRunCalls> {
        self.http.post(&["workflows", name, "dry-run"], asked).await
    }

    pub async fn tokens(&self) -> CallResult<TokenList> {
        self.http.get(&["tokens"]).await
    }

    pub async fn create_token(&self, token: &NewToken) -> CallResult<IssuedToken> {
        self.http.post(&["tokens"], token).await
    }

    pub async fn delete_token(&self, name: &str) -> CallResult<()> {
        self.http.request(Method::DELETE, &["tokens", name])?.send().await.map(drop)
    }

    pub async fn users(&self) -> CallResult<UserList> {
        self.http.get(&["users"]).await
    }

    pub async fn create_user(&self, user: &NewUser) -> CallResult<CreatedUser> {
        self.http.post(&["users"], user).await
    }

    pub async fn change_user(&self, name: &str, change: &ChangeUser) -> CallResult<User> {
        self.http.request(Method::PUT, &["users", name])?.json(change).read().await
    }

    pub async fn delete_user(&self, name: &str) -> CallResult<()> {
        self.http.request(Method::DELETE, &["users", name])?.send().await.map(drop)
    }

    pub async fn sign_out_user(&self, name: &str) -> CallResult<SignedOut> {
        self.http.request(Method::DELETE, &["users", name, "sessions"])?.read().await
    }

    /// The events after this number, as they happen.
    pub async fn events(&self, id: Uuid, after: u32) -> CallResult<Events> {
        let mut request = self.http.request(Method::GET, &["operations", &id.to_string(), "events"])?;
        if after > 0 {
            request = request.header("Last-Event-ID", &after.to_string());
        }
        request.events().await
    }
}

/// How a verb is written in paths and said to people.
pub fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Cancel => "cancel",
        Verb::Pause => "pause",
        Verb::Resume => "resume",
        Verb::Retry => "retry",
    }
}
