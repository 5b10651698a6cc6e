//! The key of the service account that the sandbox knows. It opens nothing else.

use crate::ServiceAccountKey;

const EMAIL: &str = "provision-engine@sandbox.iam.gserviceaccount.com";
const KEY_ID: &str = "sandbox";
const PRIVATE_KEY: &str = "\
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCqrsQ+9iF9u0f08GNdDkTp9W1ot5hP70SoIj86bA8odc7rTMXC\
    lTafWSwsK36zg7PCYDQlPEjf/OUa5rzxbgnGlrrVUWzU/ca12yA8ydzImsk8Lgsr56pO4klhm162dWZiUMGw6pzmHcR5i/L3vt/I\
    3jYWvyqey/CMMqjCBMX+1+KNUlL73UWjf9vsneykVylnBx9uAsSXuk5gz7SeGRqXhaTNDlw/wZRz/Y6gJ65q1E5N4+/iHe4ota8K\
    8qqBPESjGFhE6jZIdr0qTU371aZqZxtiHfv7Y0MQtm7yDPhZfD8Dygd7wjs0adBUXSqydAEhYTnHqo/CZI0K/EC69RD/AgMBAAEC\
    ggEAJVwVtpZXZFb+/B02EqNR8Ef5R8eP/kcoJwk//8CxXLDUtupaCypwB1cUdSKcHB0C1tQJ9fCJHwYS+91vlAT6/M33XUPyZ3iY\
    6ytolgW1Xu+KhrKpXVXbEGM1nrjMdXGjFHgKvXfNGg1/+P7qEtJj12rUOgxj/tgy8e0QxU8YK5yn9AADiHh2Az7s26KJIpabL3S/\
    tlPs+JACaGVJku19IgXynLSR0NVP42TZxe9EcNhuMAkclTYhaZDAV2yMhLpp4X1/7ReDf9IXrA8vqYKxp2jk2d3QS09/NixeRplp\
    jeVB9zdkVqmqlXSN8lE0Km3kTUw7iQNNJ4G92DhhrT8WeQKBgQDZldbscOmYgMw1Q6vy0CZqc3MfzsJ9iWpm56WNbFZOET0cLnly\
    T83SHoEtxBFcZvVNBatU7zjXevR54rbk5tWPgJjW0In2Ik4sxqXQD89uBtIEFRp1bSbb6zivBPAksBKrTzc+urJPHUBJu9t5nAuk\
    GvL4Swq+MnCvBob17UnxDQKBgQDI0RQCb67xZsj+Lyzjspvln11DFA8pAzHH4PZLGLjSbCM5bOU2FCjIzKXZbkM2zE0YlKHQWx7K\
    jaowI6q4mzkr9Gm+eiZ0cxTsuLFUeKTZkljI8Y8vYEAtS7mGjVbJpQsjhG++IoTPCP10++x0lBh4ztAt8O3fro9sjbmgSsXPOwKB\
    gF0ROlzn7wLMFIyz5Vh2r/fYaeWxCn+nx1s8uhNDw6aguQLU3h2HBQJbCeYJd2OOpl3Ljv1FVYrVjLyVvKUsFyzKVJWNnXUqN0Xv\
    sfzMxmzJfgtA+5A+n+BxPE2gTxdiOJoNyBOMx7gPSvA+6iGaHWCUJlkNwAqaiJhUsmV+maIBAoGBAJvyscVKkeLp3UB3xjZ1J9fk\
    MHq9AyDoWCpOqzWaVz0huSEJTd73PMzjEBCQLiZJ9b0W/6pceMb3yKhlqlh+QqG9xrijB2X7UM6chymAHxTPL5+s53L1HiGO4t54\
    uGMThljoqhZPnC9jXeERGolV0MNQaB6lMTU5zCuSzAqMxpytAoGAR6nkcC8nuu0Bcy52J5IY11BhCbMO9zEO5qCwUsV0y5CSywAV\
    uY+NF0VVnRXqKwny3XabeXtIcS8saOoaBgGX9+ze/QPGcaoQvnUpB3KTpN3fGO8/ljLKEIzZZUUdGMteuYh+cMWaTfWZ+6SYnto4\
    76O3lI8YsJL+Kj/8eUkZMcU=";
pub(super) fn key() -> ServiceAccountKey {
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{PRIVATE_KEY}\n-----END PRIVATE KEY-----\n");
    ServiceAccountKey { email: EMAIL.to_owned(), key_id: KEY_ID.to_owned(), private_key: pem.into() }
}
