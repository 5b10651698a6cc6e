"""Signs requests the way botocore does: one request per line comes in as JSON, one signature per line goes out."""

import json
import sys

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

for line in sys.stdin:
    asked = json.loads(line)
    request = AWSRequest(method="POST", url=asked["url"], headers=asked["headers"], data=asked["body"])
    request.context["timestamp"] = asked["headers"]["x-amz-date"]
    signer = SigV4Auth(Credentials(asked["id"], asked["secret"]), asked["service"], asked["region"])
    to_sign = signer.string_to_sign(request, signer.canonical_request(request))
    print(signer.signature(to_sign, request))
