//! `domains.order`: reserves a name, waits for an approval, buys the name.

use crate::registrar::Registrar;
use engine::prelude::*;
use reqwest::{Method, StatusCode};

pub struct Order;

#[derive(Serialize, Deserialize)]
pub struct Params {
    pub name: String,
}

impl Workflow for Order {
    const KIND: &'static str = "domains.order";
    const ABOUT: &'static str = "Reserves a domain name, waits for an approval, and buys the name.";
    type Params = Params;
    type State = bool; // whether the name is bought
    type Input = ();
}

pub fn plan(registrar: &Registrar) -> Plan<Order> {
    Plan::new(OnFailure::Unwind)
        .step(10, Reserve(registrar.clone()))
        .step(20, Approve)
        .step(30, Buy(registrar.clone()))
}

struct Reserve(Registrar);

#[async_trait]
impl Step<Order> for Reserve {
    named!("reserve", "Reserving the name");

    async fn run(&self, op: &mut Operation<Order>) -> Outcome {
        self.0.call(Method::PUT, &op.idempotency_key("reserve"), &op.params.name).await?;
        done()
    }

    async fn undo(&self, op: &mut Operation<Order>) -> Outcome {
        self.0.call(Method::DELETE, &op.idempotency_key("reserve"), "").await?;
        done()
    }
}

struct Approve;

#[async_trait]
impl Step<Order> for Approve {
    named!("approve", "Waiting for an approval");

    async fn run(&self, op: &mut Operation<Order>) -> Outcome {
        let key = format!("domains.approval.{}", op.params.name);
        match op.signalled(&key) {
            Some(answer) if answer["approved"] == true => done(),
            Some(_) => fail("the order was rejected"),
            None => wait_for(key, Order::DEADLINE, "the order needs an approval"),
        }
    }
}

/// Every call is a new order and costs money, so this one is an attempt.
struct Buy(Registrar);

const CALL: &str = "buy.called";
/// An order whose answer was lost is listed within this time, or never.
const LISTED_WITHIN: Duration = Duration::from_millis(500);

#[async_trait]
impl Step<Order> for Buy {
    named!("buy", "Buying the name");

    async fn run(&self, op: &mut Operation<Order>) -> Outcome {
        let (key, name) = (op.idempotency_key("buy"), op.params.name.clone());
        if op.state {
            return done();
        }
        let is_unknown = op.attempt(CALL).unknown()?.is_some();
        if is_unknown && self.0.call(Method::GET, &key, "").await? == StatusCode::OK {
            op.attempt(CALL).adopt()?;
        } else {
            op.attempt(CALL).settle(LISTED_WITHIN, |_| LISTED_WITHIN)?;
            let call = self.0.call(Method::POST, &key, &name);
            op.attempt(CALL).call(call, |error| !error.is_final()).await??;
        }
        op.state = true;
        done()
    }

    async fn undo(&self, op: &mut Operation<Order>) -> Outcome {
        op.attempt(CALL).settle(LISTED_WITHIN, |_| LISTED_WITHIN)?;
        self.0.call(Method::DELETE, &op.idempotency_key("buy"), "").await?;
        done()
    }
}
