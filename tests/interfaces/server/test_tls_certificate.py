"""A certificate that cannot be used: said before anything is listened on."""

import subprocess

import pytest

import sqlpriv
from sqlpriv.interfaces.server.endpoints.listen import Server

DAMAGED = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.fixture
def pems(certificate):
    """PEMs by name: a certificate, its key, the key encrypted, another key."""
    cert, key = certificate
    openssl = ["openssl", "pkey", "-in", str(key), "-aes256", "-passout", "pass:secret"]
    encrypted = subprocess.run(openssl, capture_output=True, check=True).stdout
    other = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    other_key = subprocess.run(other, capture_output=True, check=True).stdout
    weak = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:1024",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-keyout",
        "-",
        "-out",
        "-",
    ]
    both = subprocess.run(weak, capture_output=True, check=True).stdout
    return {
        "weak": both,
        "certificate": cert.read_bytes(),
        "key": key.read_bytes(),
        "encrypted": encrypted,
        "other key": other_key,
        "junk": b"junk",
        "damaged": DAMAGED,
    }


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (("junk", "key"), "holds no certificate in PEM"),
        (("key", "key"), "holds no certificate in PEM"),
        (("certificate", "junk"), "holds no private key in PEM"),
        (("certificate", "certificate"), "holds no private key in PEM"),
        (("certificate", "other key"), "do not belong together"),
        (("certificate", "encrypted"), "is encrypted"),
        (("damaged", "key"), "is damaged"),
        (("weak", "weak"), "too short"),
    ],
)
def test_an_unusable_certificate_says_what_is_wrong(declared, pems, pair, words):
    directory, _ = declared
    tls = tuple(pems[name] for name in pair)
    with pytest.raises(sqlpriv.InterfaceError, match=words):
        Server(directory / "people.duckdb", "grpc+tls://127.0.0.1:0", tls)
