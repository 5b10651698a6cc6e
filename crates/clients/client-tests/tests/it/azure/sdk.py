"""The official SDK of Azure as a client of the sandbox: what it can read, the sandbox says as Azure does."""

import datetime
import http.server
import ipaddress
import os
import ssl
import sys
import tempfile
import threading
import urllib.error
import urllib.request

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.core.pipeline.policies import RetryPolicy, SansIOHTTPPolicy
from azure.identity import ClientSecretCredential
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.network import NetworkManagementClient
from azure.mgmt.resource.resources import ResourceManagementClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

SANDBOX = sys.argv[1]
SUBSCRIPTION = "4b9d213f-712f-4d17-a483-8a10bbe9df3a"
TENANT = "5a9db0c4-0000-4000-8000-000000000001"
CLIENT = "5a9db0c4-0000-4000-8000-000000000002"
SCOPE = "https://management.azure.com/.default"
LOCATION = "eastus"
GROUP = "sdk"
checks = 0


def check(what, found, wanted=True):
    global checks
    if found != wanted:
        sys.exit(f"{what}: found {found!r}, wanted {wanted!r}")
    checks += 1


def control(method, path, body):
    import json

    request = urllib.request.Request(SANDBOX + path, json.dumps(body).encode(), method=method)
    urllib.request.urlopen(request).close()


class Forwarder(http.server.BaseHTTPRequestHandler):
    """TLS in front of the tokens of the sandbox, which the SDK asks for."""

    def forward(self):
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length) if length else None
        headers = {"content-type": self.headers.get("content-type") or "text/plain"}
        request = urllib.request.Request(SANDBOX + "/azure/login" + self.path, body, headers, method=self.command)
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            answer = error
        text = answer.read().replace((SANDBOX + "/azure/login").encode(), self.server.url.encode())
        self.send_response(answer.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = forward

    def log_message(self, *_):
        pass


def certificate(folder):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sandbox")])
    now = datetime.datetime.now(datetime.timezone.utc)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, private = os.path.join(folder, "ca.pem"), os.path.join(folder, "key.pem")
    with open(pem, "wb") as file:
        file.write(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    with open(private, "wb") as file:
        file.write(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return pem, private


def login():
    """A token by the flow of azure-identity, which speaks to TLS only."""
    with tempfile.TemporaryDirectory() as folder:
        pem, private = certificate(folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forwarder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem, private)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.url = f"https://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def credential(secret):
            return ClientSecretCredential(
                TENANT, CLIENT, secret, authority=server.url, disable_instance_discovery=True, connection_verify=pem
            )

        try:
            credential("wrong").get_token(SCOPE)
            sys.exit("a wrong secret brought a token")
        except Exception as error:
            check("the error of a wrong secret", "AADSTS7000215" in str(error))
        token = credential("sandbox-secret").get_token(SCOPE)
        check("the life of a token", token.expires_on - datetime.datetime.now().timestamp() > 3000)
        server.shutdown()
        return token.token


class Bearer(SansIOHTTPPolicy):
    """The SDK sends tokens to TLS only, and the sandbox has none."""

    def __init__(self, token):
        self.token = token

    def on_request(self, request):
        request.http_request.headers["Authorization"] = "Bearer " + self.token


class NoCredential:
    def get_token(self, *_, **__):
        raise AssertionError("the policy of the test sends the token")


def clients(token):
    options = {
        "base_url": SANDBOX + "/azure",
        "authentication_policy": Bearer(token),
        "polling_interval": 0,
        "retry_policy": RetryPolicy(retry_total=3, retry_backoff_factor=0.01),
    }
    kinds = (ComputeManagementClient, NetworkManagementClient, ResourceManagementClient)
    return [kind(NoCredential(), SUBSCRIPTION, **options) for kind in kinds]


def vm_body(image, nic):
    return {
        "location": LOCATION,
        "tags": {"launch": "sdk"},
        "properties": {
            "hardwareProfile": {"vmSize": "Standard_B1s"},
            "storageProfile": {
                "imageReference": {"id": image},
                "osDisk": {"name": nic.name + "-disk", "createOption": "FromImage", "deleteOption": "Delete"},
            },
            "osProfile": {
                "computerName": "sdk",
                "adminUsername": "azureuser",
                "linuxConfiguration": {
                    "disablePasswordAuthentication": True,
                    "ssh": {"publicKeys": [{"path": "/home/azureuser/.ssh/authorized_keys", "keyData": "ssh-rsa AAAA"}]},
                },
            },
            "networkProfile": {
                "networkInterfaces": [{"id": nic.id, "properties": {"primary": True, "deleteOption": "Delete"}}]
            },
        },
    }


def make_network(network):
    nsg = network.network_security_groups.begin_create_or_update(GROUP, "nsg", {"location": LOCATION}).result()
    check("the security group", nsg.provisioning_state, "Succeeded")
    subnet = {"name": "s", "properties": {"addressPrefix": "10.0.0.0/24", "networkSecurityGroup": {"id": nsg.id}}}
    body = {"location": LOCATION, "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": [subnet]}}
    made = network.virtual_networks.begin_create_or_update(GROUP, "net", body).result()
    check("the network", made.provisioning_state, "Succeeded")
    return made.subnets[0].id


def make_nic(network, subnet, number):
    ip = {
        "location": LOCATION,
        "sku": {"name": "Standard"},
        "properties": {"publicIPAllocationMethod": "Static", "deleteOption": "Delete"},
    }
    ip = network.public_ip_addresses.begin_create_or_update(GROUP, f"ip-{number}", ip).result()
    check("the address", ip.ip_address.startswith("127."))
    configuration = {
        "name": "c",
        "properties": {"subnet": {"id": subnet}, "publicIPAddress": {"id": ip.id, "properties": {"deleteOption": "Delete"}}},
    }
    body = {"location": LOCATION, "properties": {"ipConfigurations": [configuration]}}
    nic = network.network_interfaces.begin_create_or_update(GROUP, f"nic-{number}", body).result()
    check("the network interface", nic.provisioning_state, "Succeeded")
    return nic


def code_of(call):
    try:
        call()
    except HttpResponseError as error:
        return error.error.code if error.error else None
    return None


def main():
    compute, network, resources = clients(login())
    image = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/images/providers/Microsoft.Compute/images/rhel"
    control("POST", "/azure/images", {"id": image, "location": LOCATION})
    group = resources.resource_groups.create_or_update(GROUP, {"location": LOCATION})
    check("the group", group.properties.provisioning_state, "Succeeded")
    subnet = make_network(network)
    nics = [make_nic(network, subnet, number) for number in range(3)]

    machines = compute.virtual_machines
    for number, nic in enumerate(nics):
        vm = machines.begin_create_or_update(
            GROUP, f"vm-{number}", vm_body(image, nic), etag="*", match_condition=MatchConditions.IfMissing
        ).result()
        check("the instance", (vm.name, vm.provisioning_state), (f"vm-{number}", "Succeeded"))
    try:
        machines.begin_create_or_update(
            GROUP, "vm-0", vm_body(image, nics[0]), etag="*", match_condition=MatchConditions.IfMissing
        ).result()
        sys.exit("an instance that exists was made again")
    except (ResourceExistsError, ResourceModifiedError) as error:
        check("the status of an instance that exists", error.status_code, 412)

    control("PUT", "/azure/pages", {"items": 2})
    check("the pages of instances", sorted(vm.name for vm in machines.list(GROUP)), ["vm-0", "vm-1", "vm-2"])
    check("the list of all", sum(1 for _ in machines.list_all()), 3)
    check("the pages of interfaces", sum(1 for _ in network.network_interfaces.list(GROUP)), 3)
    check("the pages of sizes", sum(1 for _ in compute.resource_skus.list(filter=f"location eq '{LOCATION}'")), 8)
    check("the quotas", any(one.name.value == "cores" for one in compute.usage.list(LOCATION)))
    found = machines.get(GROUP, "VM-1", expand="instanceView")
    check("the power", [status.code for status in found.instance_view.statuses][-1], "PowerState/running")
    check("the tags", found.tags, {"launch": "sdk"})
    check("the disk", compute.disks.get(GROUP, "nic-1-disk").disk_state, "Attached")
    check("the image", compute.images.get("images", "rhel").hyper_v_generation, "V1")

    control("POST", "/azure/faults/fail", {"method": "GET", "code": "TooManyRequests", "status": 429, "retry_after_s": 0})
    check("a throttled call", machines.get(GROUP, "vm-0").name, "vm-0")
    check("a missing instance", code_of(lambda: machines.get(GROUP, "none")), "ResourceNotFound")
    check("an interface in use", code_of(lambda: network.network_interfaces.begin_delete(GROUP, "nic-0").result()), "NicInUse")

    control("POST", "/azure/faults/die", {"code": "AllocationFailed", "message": "no room"})
    nic = make_nic(network, subnet, 3)
    check("a failed operation", code_of(lambda: machines.begin_create_or_update(GROUP, "vm-3", vm_body(image, nic)).result()), "AllocationFailed")
    check("what failed is there", machines.get(GROUP, "vm-3").provisioning_state, "Failed")

    machines.begin_delete(GROUP, "vm-0", force_deletion=True).result()
    check("a deleted instance", code_of(lambda: machines.get(GROUP, "vm-0")), "ResourceNotFound")
    check("its interface", code_of(lambda: network.network_interfaces.get(GROUP, "nic-0")), "ResourceNotFound")
    machines.begin_delete(GROUP, "vm-0").result()
    resources.resource_groups.begin_delete(GROUP).result()
    try:
        resources.resource_groups.get(GROUP)
        sys.exit("the group is still there")
    except ResourceNotFoundError as error:
        check("a deleted group", error.error.code, "ResourceGroupNotFound")
    print(f"azure-sdk: {checks} checks passed")


main()
