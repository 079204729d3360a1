"""Calls a TrueNAS through its official client. One JSON document in, one out: `truenas-client.ts` says what is in them."""

import json
import sys

from truenas_api_client import Client, ClientException, ValidationErrors


def outcome(work):
    try:
        return {"result": work()}
    except ValidationErrors as error:
        return {"refused": [[one.attribute, one.errmsg, one.errcode] for one in error.errors]}
    except ClientException as error:
        return {"error": {"errno": error.errno, "text": error.error}}
    except ValueError as error:
        return {"error": {"errno": None, "text": str(error)}}


def log_in(client, login):
    if login is None:
        return None
    words = {key: login[key] for key in ("auth_mechanism", "channel_binding") if key in login}
    return outcome(lambda: client.login_with_api_key(login["username"], login["api_key"], **words))


def run(order):
    events = []
    with Client(order["uri"]) as client:
        answers = {"login": log_in(client, order.get("login"))}
        if "error" in (answers["login"] or {}):
            return {**answers, "calls": [], "events": events}
        for name in order.get("listen", []):
            client.subscribe(name, lambda kind, **message: events.append([kind, message["collection"]]), sync=True)
        answers["calls"] = [
            outcome(lambda: client.call(call["method"], *call.get("params", []), job=call.get("job", False), timeout=20))
            for call in order["calls"]
        ]
    return {**answers, "events": events}


json.dump(run(json.load(sys.stdin)), sys.stdout, default=str)
