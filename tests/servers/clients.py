"""The servers' own clients, which are not ours either: they make buckets, and say what is stored."""
import hashlib
import json
import urllib.parse
import urllib.request


class S3:
    """boto3, for s3s-fs and moto."""

    scheme = "s3"
    says_of_missing_bucket = ["there is no such bucket"]
    writes = True

    def __init__(self, endpoint, signatures):
        import boto3
        from botocore.config import Config

        self.signatures = signatures
        self.endpoint = endpoint
        self.environment = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        }
        self.client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="secret",
            config=Config(s3={"addressing_style": "path"}, read_timeout=30),
        )

    def make(self, bucket):
        self.client.create_bucket(Bucket=bucket)

    def put(self, bucket, key, data, public=False):
        more = {"ACL": "public-read"} if public else {}
        self.client.put_object(Bucket=bucket, Key=key, Body=data, **more)

    def get(self, bucket, key):
        return self.client.get_object(Bucket=bucket, Key=key)["Body"].read()

    def delete(self, bucket, key):
        self.client.delete_object(Bucket=bucket, Key=key)

    def list(self, bucket, prefix=""):
        """Key to when it was written."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        found = [entry for page in pages for entry in page.get("Contents", [])]
        return {entry["Key"]: entry["LastModified"] for entry in found}

    def begin_upload(self, bucket, key):
        """Leaves an upload unfinished, as a killed process does."""
        upload = self.client.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
        self.client.upload_part(
            Bucket=bucket, Key=key, UploadId=upload, PartNumber=1, Body=b"x" * (5 << 20)
        )

    def uploads(self, bucket):
        found = self.client.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
        return sorted(entry["Key"] for entry in found)

    def put_new(self, bucket, key, data):
        """Whether the object was made; false where it exists."""
        try:
            self.client.put_object(Bucket=bucket, Key=key, Body=data, IfNoneMatch="*")
        except self.client.exceptions.ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] in (409, 412):
                return False
            raise
        return True

    def tells_time_of_uploads(self):
        """moto says of every upload that it was begun in 2010."""
        return self.signatures

    def wrong_credentials(self):
        """What to set, and what has to be said of it."""
        secret = {"AWS_SECRET_ACCESS_KEY": "wrongsecretkey"}
        yield "wrong secret", secret, "the secret key does not belong to the access key"
        key = {"AWS_ACCESS_KEY_ID": "AKIDUNKNOWN"}
        # Amazon's own code is InvalidAccessKeyId, for which there is a better cure.
        yield "unknown key", key, "the store denies access; check the credentials"


class Moto(S3):
    """Without signatures, objects that all may read are those of a web server."""

    def __init__(self, endpoint):
        super().__init__(endpoint, signatures=False)

    def web(self, bucket):
        return f"{self.endpoint}/{bucket}"


class Azure:
    """azure-storage-blob, for azurite. The key is the one of every emulator of Azure."""

    scheme = "az"
    says_of_missing_bucket = ["there is no such bucket"]
    writes = True
    signatures = True
    KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

    def __init__(self, endpoint):
        from azure.storage.blob import BlobServiceClient

        self.endpoint = endpoint
        account = "devstoreaccount1"
        self.environment = {"AZURE_STORAGE_USE_EMULATOR": "true", "AZURITE_BLOB_STORAGE_URL": endpoint}
        credential = {"account_name": account, "account_key": self.KEY}
        self.client = BlobServiceClient(f"{endpoint}/{account}", credential=credential)

    def make(self, bucket):
        self.client.create_container(bucket)

    def put(self, bucket, key, data):
        self.client.get_blob_client(bucket, key).upload_blob(data, overwrite=True)

    def get(self, bucket, key):
        return self.client.get_blob_client(bucket, key).download_blob().readall()

    def put_new(self, bucket, key, data):
        from azure.core.exceptions import ResourceExistsError

        try:
            self.client.get_blob_client(bucket, key).upload_blob(data)
        except ResourceExistsError:
            return False
        return True

    def delete(self, bucket, key):
        self.client.get_blob_client(bucket, key).delete_blob()

    def list(self, bucket, prefix=""):
        found = self.client.get_container_client(bucket).list_blobs(name_starts_with=prefix)
        return {entry.name: entry.last_modified for entry in found}

    def wrong_credentials(self):
        key = {"AZURE_STORAGE_ACCOUNT_KEY": "YW5vdGhlcg=="}
        # Azure's own code is AuthenticationFailed, for which there is a better cure.
        yield "wrong key", key, "the store denies access; check the credentials"


class Google:
    """The JSON interface by hand, for fake-gcs-server."""

    scheme = "gs"
    # object_store writes by the XML interface, which fake-gcs-server has for reading and lists only.
    writes = False
    signatures = False
    # It answers a list of such a bucket with the status 500, and Google with NoSuchBucket.
    says_of_missing_bucket = ["no bucket named missing-bucket"]

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.environment = {"STORAGE_EMULATOR_HOST": endpoint}

    def _ask(self, path, query=None, data=None, kind="application/json", method=None):
        url = self.endpoint + path + ("?" + urllib.parse.urlencode(query) if query else "")
        request = urllib.request.Request(url, data, {"Content-Type": kind}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def make(self, bucket):
        self._ask("/storage/v1/b", data=json.dumps({"name": bucket}).encode())

    def put(self, bucket, key, data):
        query = {"uploadType": "media", "name": key}
        self._ask(f"/upload/storage/v1/b/{bucket}/o", query, data, "application/octet-stream")

    def get(self, bucket, key):
        name = urllib.parse.quote(key, safe="")
        return self._ask(f"/storage/v1/b/{bucket}/o/{name}", {"alt": "media"})

    def delete(self, bucket, key):
        name = urllib.parse.quote(key, safe="")
        self._ask(f"/storage/v1/b/{bucket}/o/{name}", method="DELETE")

    def list(self, bucket, prefix=""):
        found = json.loads(self._ask(f"/storage/v1/b/{bucket}/o", {"prefix": prefix}))
        return {entry["name"]: entry["updated"] for entry in found.get("items", [])}


def connect(server, endpoint):
    """The client for a server by its name."""
    makers = {
        "s3s-fs": lambda: S3(endpoint, signatures=True),
        "moto": lambda: Moto(endpoint),
        "azurite": lambda: Azure(endpoint),
        "fake-gcs-server": lambda: Google(endpoint),
    }
    return makers[server]()


def hashes(client, bucket, prefix):
    """SHA-256 of every object below a folder, or of the object itself, by the rest of its key."""
    keys = [k for k in client.list(bucket, prefix) if k == prefix or k.startswith(prefix + "/")]
    digest = lambda key: hashlib.sha256(client.get(bucket, key)).hexdigest()
    return {key[len(prefix) :].lstrip("/"): digest(key) for key in keys}
