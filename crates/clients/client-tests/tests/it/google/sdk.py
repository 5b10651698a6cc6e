"""The official SDK of Google Cloud as a client of the sandbox: what it can read, the sandbox says as Google does.

Reads {"sandbox": URL, "key": the key of a service account} from its input, and prints how many checks passed.
"""

import json
import sys
import urllib.error
import urllib.request

from google.api_core import exceptions
from google.auth.transport.requests import Request
from google.cloud import compute_v1
from google.oauth2 import service_account

GIVEN = json.load(sys.stdin)
SANDBOX = GIVEN["sandbox"]
PROJECT, ZONE = "sandbox-project-7", "us-central1-a"
IMAGE = "projects/sandbox-images/global/images/composer-api-7"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
LABEL = 'labels.provision-engine-launch="sdk"'

passed = 0


def check(found, expected, what):
    global passed
    if found != expected:
        sys.exit(f"{what}: found {found!r}, expected {expected!r}")
    passed += 1


def control(method, path, body):
    request = urllib.request.Request(SANDBOX + path, json.dumps(body).encode(), method=method)
    urllib.request.urlopen(request).close()


def credentials():
    info = {
        "type": "service_account",
        "client_email": GIVEN["key"]["email"],
        "private_key_id": GIVEN["key"]["key_id"],
        "private_key": GIVEN["key"]["private_key"],
        "token_uri": SANDBOX + "/gcp/token",
    }
    made = service_account.Credentials.from_service_account_info(info, scopes=[SCOPE])
    return made.with_quota_project(PROJECT)


def client(kind, **more):
    return kind(credentials=more.pop("credentials", None) or credentials(), client_options={"api_endpoint": SANDBOX + "/gcp"})


def with_operations(kind):
    """The object that a call returns asks the host of Google, unless it gets a client of the sandbox before."""
    made = client(kind)
    made.transport._extended_operations_services["zone_operations"] = client(compute_v1.ZoneOperationsClient)
    return made


def bulk(names, **more):
    disk = compute_v1.AttachedDisk(boot=True, auto_delete=True, type_="PERSISTENT")
    disk.initialize_params = compute_v1.AttachedDiskInitializeParams(source_image=IMAGE, labels={"provision-engine-launch": "sdk"})
    nat = compute_v1.AccessConfig(name="External NAT", type_="ONE_TO_ONE_NAT")
    network = compute_v1.NetworkInterface(network="global/networks/default", access_configs=[nat])
    properties = compute_v1.InstanceProperties(
        machine_type="e2-small", disks=[disk], network_interfaces=[network], labels={"provision-engine-launch": "sdk"}
    )
    return compute_v1.BulkInsertInstanceRequest(
        project=PROJECT,
        zone=ZONE,
        bulk_insert_instance_resource_resource=compute_v1.BulkInsertInstanceResource(
            count=len(names),
            min_count=len(names),
            instance_properties=properties,
            per_instance_properties={
                name: compute_v1.BulkInsertInstanceResourcePerInstanceProperties(name=name) for name in names
            },
        ),
        **more,
    )


def launches(instances):
    request_id = "6f0c2d57-1d0c-4c3a-8f5e-0123456789ab"
    asked = bulk(["sdk-1", "sdk-2"], request_id=request_id)
    first = instances.bulk_insert(asked)
    again = instances.bulk_insert(asked)
    check(first.name, again.name, "the same request id brings the same operation")
    first.result(timeout=60)
    other = bulk(["sdk-3"], request_id=request_id)
    try:
        instances.bulk_insert(other)
        sys.exit("a request id was used for two requests")
    except exceptions.BadRequest as error:
        check(error.code, 400, "another request with the same id")
    found = list(instances.list(compute_v1.ListInstancesRequest(project=PROJECT, zone=ZONE, filter=LABEL)))
    check([one.name for one in found], ["sdk-1", "sdk-2"], "the list by label")
    check([one.status for one in found], ["RUNNING"] * 2, "the states")
    check(all(one.network_interfaces[0].access_configs[0].nat_i_p for one in found), True, "public addresses")
    none = compute_v1.ListInstancesRequest(project=PROJECT, zone=ZONE, filter='labels.provision-engine-launch="other"')
    check(list(instances.list(none)), [], "the list of another label")
    zones = {zone: len(page.instances) for zone, page in instances.aggregated_list(project=PROJECT) if page.instances}
    check(zones, {f"zones/{ZONE}": 2}, "the aggregated list")
    one = instances.get(project=PROJECT, zone=ZONE, instance="sdk-1")
    by_number = instances.get(project=PROJECT, zone=ZONE, instance=str(one.id))
    check(by_number.name, "sdk-1", "an instance by its number")
    return found


def pages(instances):
    control("PUT", "/gcp/pages", {"items": 1, "begins_empty": True})
    found = instances.list(compute_v1.ListInstancesRequest(project=PROJECT, zone=ZONE, filter=LABEL))
    check(len(list(found)), 2, "pages of which the first is empty")
    control("PUT", "/gcp/pages", {"items": None})


def failures(instances):
    try:
        instances.get(project=PROJECT, zone=ZONE, instance="none")
        sys.exit("an instance that does not exist was found")
    except exceptions.NotFound as error:
        check("instances/none" in str(error), True, "the words of a 404")
    control("POST", "/gcp/faults/fail_inside", {"code": "ZONE_RESOURCE_POOL_EXHAUSTED"})
    operation = instances.bulk_insert(bulk(["sdk-4", "sdk-5"]))
    try:
        operation.result(timeout=60)
        sys.exit("an operation that failed was taken for a success")
    except exceptions.ServiceUnavailable as error:
        check("ZONE_RESOURCE_POOL_EXHAUSTED" in str(error), True, "the words of an operation that failed")
    names = [one.name for one in instances.list(project=PROJECT, zone=ZONE)]
    check(names, ["sdk-1", "sdk-2"], "what a bulk call that failed leaves")
    status = instances.bulk_insert_unary(bulk(["sdk-6"])).instances_bulk_insert_operation_metadata
    place = status.per_location_status[f"zones/{ZONE}"]
    check((place.status, place.target_vm_count), ("CREATING", 1), "the progress of a bulk call")


def permissions():
    images = client(compute_v1.ImagesClient)
    asked = compute_v1.TestPermissionsRequest(permissions=["compute.images.useReadOnly"])
    granted = images.test_iam_permissions(
        project="sandbox-images", resource="composer-api-7", test_permissions_request_resource=asked
    )
    check(list(granted.permissions), ["compute.images.useReadOnly"], "the permissions of an image")
    check(images.get_from_family(project="rhel-cloud", family="rhel-9").status, "READY", "an image of a family")
    quotas = client(compute_v1.RegionsClient).get(project=PROJECT, region="us-central1").quotas
    check(next(one.usage for one in quotas if one.metric == "CPUS") >= 4, True, "the usage of CPUs")
    types = client(compute_v1.MachineTypesClient).list(project=PROJECT, zone=ZONE)
    check({one.name: one.memory_mb for one in types}["e2-small"], 2048, "the memory of a machine type")


def tokens():
    exchanged = credentials().with_always_use_jwt_access(False)
    exchanged.refresh(Request())
    check(exchanged.token.startswith("ya29."), True, "the exchange of an assertion")
    zones = [zone.name for zone in client(compute_v1.ZonesClient, credentials=exchanged).list(project=PROJECT)]
    check(ZONE in zones, True, "the zones, with a token")
    bare = urllib.request.Request(f"{SANDBOX}/gcp/compute/v1/projects/{PROJECT}/zones")
    try:
        urllib.request.urlopen(bare)
        sys.exit("a call without a token was answered")
    except urllib.error.HTTPError as error:
        check(error.code, 401, "a call without a token")


def deletions(instances):
    for name in ["sdk-1", "sdk-2", "sdk-6"]:
        instances.delete(project=PROJECT, zone=ZONE, instance=name).result(timeout=60)
    check(list(instances.list(project=PROJECT, zone=ZONE)), [], "nothing is left")
    check(list(client(compute_v1.DisksClient).list(project=PROJECT, zone=ZONE)), [], "no disk is left")


def main():
    instances = with_operations(compute_v1.InstancesClient)
    launches(instances)
    pages(instances)
    failures(instances)
    permissions()
    tokens()
    deletions(instances)
    print(f"google-sdk: {passed} checks passed")


main()
